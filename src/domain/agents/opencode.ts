import type { AgentDefinition, Vendor } from './definition.ts'

/**
 * Overrides the person's and the project's own settings. opencode does not forward the calls of its subagents nor its questions over ACP:
 * the turn would wait for ever.
 */
const PERMISSION = { '*': 'ask', task: 'deny', question: 'deny' }
/** Language servers and formatters are programs from the project's own dependencies and run without an ask. */
const CONFIG = {
  permission: PERMISSION,
  lsp: false,
  formatter: false,
  autoupdate: false,
  // A person may take long to answer.
  experimental: { mcp_timeout: 24 * 3_600_000 },
  share: 'disabled',
}

/** opencode calls the vendor for which it is configured; its account is recognised by the first of these credentials. */
const vendor: Vendor = {
  tag: 'opencode',
  isAny: true,
  env: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_BASE_URL',
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'GEMINI_API_KEY',
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'OPENROUTER_API_KEY',
    'OPENCODE_API_KEY',
    'OPENCODE_CONFIG',
    'OPENCODE_MODEL',
  ],
  prefixes: ['OPENCODE'],
  addresses: [],
  host: 'the vendor it is set up for',
  credentials: [
    ['OPENCODE_API_KEY', 'API key'],
    ['ANTHROPIC_API_KEY', 'API key'],
    ['OPENAI_API_KEY', 'API key'],
    ['OPENROUTER_API_KEY', 'API key'],
    ['GEMINI_API_KEY', 'API key'],
    ['GOOGLE_GENERATIVE_AI_API_KEY', 'API key'],
  ],
  login: {
    ...{ variable: 'XDG_DATA_HOME', below: 'opencode', folder: '.local/share/opencode', file: 'auth.json' },
    command: 'opencode auth login',
  },
}

/** opencode in its ACP mode. */
export const opencodeAgent: AgentDefinition = {
  kind: 'opencode',
  name: 'opencode',
  speaker: 'opencode',
  package: 'opencode-ai',
  commandLine: { protocol: ['acp'], flags: { '--print-logs': 'alone', '--log-level': 'value' } },
  vendor,
  settingsFolder: '.opencode',
  revision: 2,
  verified: ['1.18.33'],
  speaks: 'acp',
  start: {
    command: 'opencode',
    args: ['acp'],
    env: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify(CONFIG),
      // Otherwise plugins, tools and servers of the project would run at the start, before any ask.
      OPENCODE_DISABLE_PROJECT_CONFIG: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    },
    // Only instructions: everything else of the project's configuration runs programs, and `pcc trust` does not check it.
    trusted: { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...CONFIG, instructions: ['{cwd}/AGENTS.md'] }) } },
    files: {},
    model: {},
    install: 'npm install -g opencode-ai',
    serves: { files: false, terminals: false },
  },
  sandbox: {
    // One database has the conversations of all projects, and git outside would run what the settings of a snapshot name. A login may name an
    // address from which opencode loads settings and variables.
    folder: {
      ...{ name: '.local/share/opencode', variable: 'XDG_DATA_HOME', below: 'opencode', kept: [''] },
      ...{ copies: ['auth.json', 'mcp-auth.json'], shown: ['bin'] },
      renewed: ['access', 'refresh', 'expires', 'accessToken', 'refreshToken', 'expiresAt'],
      ...{ writable: [], readOnly: [], login: [], programsIn: [] },
    },
    shown: ['.config/opencode'],
    hosts: [],
    addresses: [],
  },
  hold: 'every-call',
  heldBy: 'its own permission settings, which ask about everything; what the project brings for it is not loaded',
  modes: { known: ['build', 'plan'] },
  readOnly: 'every call of another tool is refused',
  limits: 'not at all: it retries without end and in silence, and a silent session is treated as one that hangs',
  resume: 'resume',
  forks: true,
  tools: {
    nameIn: 'title',
    inert: ['invalid', 'Invalid Tool'],
    // opencode checks the file, and the text to replace, before it asks. `saying`: its texts for calls that never began.
    failsUnasked: { kinds: ['read', 'search', 'edit'], saying: ['^Tool execution aborted$', '^Invalid timeout value'] },
    known: {
      todowrite: { tool: 'TodoWrite', input: { todos: ['input.todos'] } },
      todoread: { tool: 'TodoRead', input: {} },
      glob: { tool: 'Glob', input: { pattern: ['input.pattern'], path: ['input.path'] } },
      grep: { tool: 'Grep', input: { pattern: ['input.pattern'], path: ['input.path'] } },
    },
  },
  ownTools: { over: 'mcp', named: 'protocol', called: '{server}_{tool}' },
  refusalEndsTurn: true,
  departs: {
    'turn.plan': 'untold',
    'refusal.parallel': 'all-fall',
    subagent: 'none',
    question: 'none',
    'question.declined': 'none',
    'question.late': 'none',
    'stop.pause-subagent': 'none',
    'stop.prompt-in-turn': 'after',
    'park.call': 'gone',
    'park.question': 'none',
    'park.batch': 'gone',
    'limit.told': 'silent',
    'limit.without-reset': 'silent',
    'failure.retries': 'untold',
    'process.nothing-left': 'waits',
    warm: 'none',
    reuse: 'none',
  },
  quirks: [
    "The project's opencode.json and .opencode are not loaded, trusted or not; its AGENTS.md is loaded if the project is trusted. Language servers and formatters are off.",
    'A refused call ends the whole turn and the calls beside it: it gets the reason with another prompt and goes on.',
    'It retries an overloaded, failing or refusing vendor without end and in silence.',
  ],
}
