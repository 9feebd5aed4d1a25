// The kind of job that three tenants enqueue. Those who enqueue and those who run share this definition.
import { defineJob } from "fairmill";

export const drawPicture = defineJob({ kind: "picture.draw", queue: "pictures", timeout: "10s" });
