// Scales a Kubernetes Deployment by its scale subresource, with the service account of the pod and plain HTTP. Before it takes a pod away it says which
// ones have nothing to do (pod-deletion-cost), because the Deployment alone would take any. One supervisor of the pool does this, its leader.
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import type { Database } from "../../db/database.js";
import { KubernetesError } from "../pool-errors.js";
import type { KubernetesOptions } from "../pool-settings.js";
import { leadPool, type PodUse, readPodUse } from "../pool-statements.js";
import type { ScaleDecision } from "./brain.js";
import type { ScaleTarget, TargetFacts } from "./scaler.js";

export interface KubernetesTargetOptions {
  readonly db: Database;
  readonly pool: string;
  readonly supervisor: string;
  readonly leaseMs: number;
  readonly kubernetes: KubernetesOptions;
  /** Jobs that one pod runs at once, by queue. */
  readonly capacity: () => ReadonlyMap<string, number>;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const COST = "controller.kubernetes.io/pod-deletion-cost";
const ANSWER_MS_MAX = 10_000;
/** Pods that are told of; a Deployment has fewer. */
const PODS_MAX = 500;

interface Access {
  readonly url: string;
  readonly namespace: string;
  readonly folder: string;
}

export class KubernetesTarget implements ScaleTarget {
  readonly #options: KubernetesTargetOptions;
  #access: Promise<Access> | undefined;

  constructor(options: KubernetesTargetOptions) {
    this.#options = options;
  }

  async look(): Promise<TargetFacts | undefined> {
    const { db, pool, supervisor, leaseMs, capacity } = this.#options;
    if (!(await leadPool(db, pool, supervisor, leaseMs))) return undefined;
    const deployment = (await this.#call("GET", await this.#path(""), "reading the deployment")) as {
      spec?: { replicas?: number };
      status?: { readyReplicas?: number };
    };
    const pods = await readPodUse(db, pool);
    const largest = Math.max(1, ...capacity().values());
    return {
      current: deployment.spec?.replicas ?? 1,
      ready: deployment.status?.readyReplicas ?? 0,
      capacity: largest,
      busy: pods.reduce((sum, { utilisation }) => sum + utilisation * largest, 0),
      // Replicas are counted for the whole fleet.
      hosts: 1,
      memory: undefined,
    };
  }

  async apply({ target, current }: ScaleDecision): Promise<void> {
    if (target < current) await this.#priceOfPods();
    await this.#call("PATCH", await this.#path("/scale"), "changing the scale", { spec: { replicas: target } });
  }

  /** The fewer jobs a pod runs, the cheaper it is to take away. The name of a pod is the name of its host. */
  async #priceOfPods(): Promise<void> {
    const { db, pool, kubernetes } = this.#options;
    const { namespace } = await this.#accessed();
    const query = kubernetes.selector === undefined ? "" : `&labelSelector=${encodeURIComponent(kubernetes.selector)}`;
    const { items = [] } = (await this.#call(
      "GET",
      `/api/v1/namespaces/${namespace}/pods?limit=${PODS_MAX}${query}`,
      "listing pods",
    )) as { items?: { metadata: { name: string; annotations?: Record<string, string> } }[] };
    const uses = new Map((await readPodUse(db, pool)).map((use: PodUse) => [use.host, use.running]));
    // Idle ones first: if something fails on the way, it is the busy ones that keep their price.
    const known = items
      .filter(({ metadata }) => uses.has(metadata.name))
      .toSorted((a, b) => uses.get(a.metadata.name)! - uses.get(b.metadata.name)!);
    for (const { metadata } of known) {
      const cost = String(uses.get(metadata.name)!);
      if (metadata.annotations?.[COST] === cost) continue;
      await this.#call("PATCH", `/api/v1/namespaces/${namespace}/pods/${metadata.name}`, "pricing a pod", {
        metadata: { annotations: { [COST]: cost } },
      });
    }
  }

  async #path(below: string): Promise<string> {
    const { namespace } = await this.#accessed();
    const { deployment } = this.#options.kubernetes;
    return `/apis/apps/v1/namespaces/${namespace}/deployments/${encodeURIComponent(deployment)}${below}`;
  }

  #accessed(): Promise<Access> {
    this.#access ??= accessOf(this.#options.kubernetes);
    this.#access.catch(() => {
      this.#access = undefined;
    });
    return this.#access;
  }

  /** The token is read each time: Kubernetes changes it every hour. */
  async #call(method: "GET" | "PATCH", path: string, doing: string, body?: object): Promise<unknown> {
    const { url, folder } = await this.#accessed();
    const token = (await readFile(join(folder, "token"), "utf8")).trim();
    const ca = url.startsWith("https:") ? await readFile(join(folder, "ca.crt"), "utf8") : undefined;
    const { status, text } = await send(new URL(path, url), method, token, ca, body).catch((error: unknown) => {
      throw new KubernetesError(doing, error instanceof Error ? error.message : String(error));
    });
    if (status >= 200 && status < 300) return JSON.parse(text);
    throw new KubernetesError(doing, `status ${status}`);
  }
}

async function accessOf({
  apiUrl,
  namespace,
  serviceAccountFolder: folder = SERVICE_ACCOUNT,
}: KubernetesOptions): Promise<Access> {
  const host = process.env["KUBERNETES_SERVICE_HOST"];
  const port = process.env["KUBERNETES_SERVICE_PORT"] ?? "443";
  const url = apiUrl ?? (host === undefined ? undefined : `https://${host.includes(":") ? `[${host}]` : host}:${port}`);
  if (url === undefined)
    throw new KubernetesError(
      "to be found",
      "there is no KUBERNETES_SERVICE_HOST, so this is no pod, and apiUrl is not set",
    );
  return { url, namespace: namespace ?? (await readFile(join(folder, "namespace"), "utf8")).trim(), folder };
}

function send(
  url: URL,
  method: string,
  token: string,
  ca: string | undefined,
  body: object | undefined,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const open = url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = open(
      url,
      {
        method,
        ...(ca !== undefined && { ca }),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
        headers: {
          authorization: `Bearer ${token}`,
          accept: "application/json",
          ...(body !== undefined && { "content-type": "application/merge-patch+json" }),
        },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => {
          text += part;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
