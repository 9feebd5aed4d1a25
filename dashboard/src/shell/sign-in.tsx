// The form for those whom the server does not know yet.
import { useEffect, useRef, useState } from "preact/hooks";
import { signIn } from "../data/session";
import { Mark } from "../parts/icon";

export function SignIn() {
  const [failure, setFailure] = useState("");
  const [busy, setBusy] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  // There is nothing else on this screen.
  useEffect(() => first.current?.focus(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    const problem = await signIn(String(form.get("name")), String(form.get("secret")));
    setBusy(false);
    if (problem)
      setFailure(
        problem.detail || (problem.status === 0 ? "The server cannot be reached." : "Name or secret is not right."),
      );
  };
  return (
    <main class="sign-in">
      <form class="panel" onSubmit={submit}>
        <span class="brand">
          <Mark /> Fairmill
        </span>
        <h1>Sign in</h1>
        <label class="field">
          Name
          <input class="input" name="name" autocomplete="username" required ref={first} />
        </label>
        <label class="field">
          Secret
          <input class="input" name="secret" type="password" autocomplete="current-password" required />
        </label>
        {failure && (
          <p role="alert" class="c-dead">
            {failure}
          </p>
        )}
        <button type="submit" class="button primary" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
