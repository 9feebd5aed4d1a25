// A screen that cannot be drawn says so, and takes no other with it.
import { Component, type ComponentChildren } from "preact";
import { Notice } from "../parts/states";

export class Boundary extends Component<{ children: ComponentChildren }, { fault: string | null }> {
  override state = { fault: null };

  static override getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    if (this.state.fault === null) return this.props.children;
    return (
      <Notice icon="errors" tone="dead">
        <strong>This screen could not be drawn</strong>
        <div class="muted">
          The server may be of another version than the page: load the page again. <code>{this.state.fault}</code>
        </div>
      </Notice>
    );
  }
}
