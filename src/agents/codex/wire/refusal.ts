const NO_SUCH_METHOD = -32601

/** The answer to something that Codex asks and nobody here does. */
export class Refusal extends Error {
  readonly code = NO_SUCH_METHOD
}
