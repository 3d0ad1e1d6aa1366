/** What any program needs to run as its person. Keys and what changes how programs are loaded are not among it. */
const USUAL = ['PATH', 'HOME', 'LANG', 'LC_*', 'TZ', 'TMPDIR', 'USER', 'SHELL']

/** Keys of model vendors, and what loads foreign code: nobody can ask for these. */
const NEVER =
  /^(ANTHROPIC|CLAUDE|OPENAI|GEMINI|GOOGLE_(API|GENAI|GENERATIVE)|MISTRAL|COHERE|GROQ|XAI|DEEPSEEK|OPENROUTER|CODEX|COPILOT|PCC)(_|$)|^(LD_PRELOAD|LD_AUDIT|DYLD_.*|BASH_ENV|ENV|NODE_OPTIONS|NODE_TEST_CONTEXT|NODE_CHANNEL_FD)$/i

/** The environment of a command of the project: the usual few, and those a person named. */
export function commandEnvironment(
  env: Record<string, string | undefined>,
  named: readonly string[] = [],
): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || NEVER.test(name)) continue
    if (named.includes(name) || isUsual(name)) passed[name] = value
  }
  // What asks questions or draws pictures for a terminal does not in a build.
  return { ...passed, CI: '1', NO_COLOR: '1' }
}

function isUsual(name: string): boolean {
  return USUAL.some(each => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each))
}
