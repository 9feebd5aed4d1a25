// Begins: who is it, then the screens.
import { render } from "preact";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/figures.css";
import "./style/tables.css";
import "./style/messages.css";
import "./style/charts.css";
import "./style/views.css";
import "./style/fleet-views.css";
import { startLive } from "./data/live";
import { loadSession, me, sessionProblem } from "./data/session";
import { Failed } from "./parts/states";
import { route } from "./shell/route";
import { Shell } from "./shell/shell";
import { SignIn } from "./shell/sign-in";
import { AnswerPage } from "./views/approvals/answer-page";

let live = false;
let asked = false;

function App() {
  const [screen, token] = route.value.parts;
  // Its token is all that it needs: the holder of a link has no session.
  if (screen === "answer") return <AnswerPage key={token} token={token ?? ""} />;
  if (!asked) {
    asked = true;
    loadSession();
  }
  if (me.value) {
    if (!live) {
      live = true;
      startLive();
    }
    return <Shell />;
  }
  const problem = sessionProblem.value;
  if (!problem) return null;
  if (problem.status === 401) return <SignIn />;
  return (
    <main class="content">
      <h1>Fairmill</h1>
      <Failed problem={problem} retry={loadSession} />
    </main>
  );
}

render(<App />, document.getElementById("app")!);
