import type { AgentDefinition, Vendor } from './definition.ts'

const vendor: Vendor = {
  tag: 'codex',
  env: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_ORGANIZATION', 'OPENAI_PROJECT', 'CODEX_API_KEY', 'CODEX_HOME'],
  prefixes: ['OPENAI', 'CODEX'],
  addresses: ['OPENAI_BASE_URL'],
  host: 'api.openai.com',
  credentials: [
    ['CODEX_API_KEY', 'API key'],
    ['OPENAI_API_KEY', 'API key'],
  ],
  login: { variable: 'CODEX_HOME', folder: '.codex', file: 'auth.json', command: 'codex login' },
}

/** Codex through its app-server, which asks about every command and every patch; its ACP adapter does not. */
export const codexAgent: AgentDefinition = {
  kind: 'codex',
  name: 'Codex',
  speaker: 'Codex',
  package: '@openai/codex',
  commandLine: { protocol: ['app-server'], flags: { '-m': 'value', '--model': 'value' } },
  vendor,
  settingsFolder: '.codex',
  revision: 2,
  verified: ['0.166.0'],
  speaks: 'app-server',
  start: {
    command: 'codex',
    args: ['app-server'],
    env: {},
    files: {},
    model: {},
    install: 'npm install -g @openai/codex',
    serves: { files: false, terminals: false },
  },
  // The driver names its home, which is not the person's own.
  sandbox: { hosts: ['api.openai.com', 'auth.openai.com', 'chatgpt.com'], addresses: ['OPENAI_BASE_URL'] },
  hold: 'every-call',
  heldBy:
    'the approval policy "untrusted" in a home without rules, hooks and servers; what runs past approvals is off, and its own sandbox is behind',
  modes: { known: ['read-only', 'workspace-write', 'danger-full-access'] },
  readOnly: 'its read-only sandbox; of commands only those are asked that do nothing but read, all else is refused',
  limits: 'an error of the turn, and account/rateLimits/updated with windows and resets',
  resume: 'resume',
  forks: true,
  tools: { nameIn: 'name', known: {} },
  ownTools: { over: 'library' },
  departs: {
    'turn.cost': 'untold',
    subagent: 'none',
    question: 'single',
    'stop.pause-subagent': 'none',
    'park.call': 'gone',
    'park.question': 'gone',
    'park.batch': 'gone',
    'limit.without-reset': 'as-a-time',
    'failure.retries': 'some',
    'process.nothing-left': 'ends',
    warm: 'none',
    reuse: 'none',
  },
  quirks: [
    'A command may ask to run outside of its sandbox: that is judged as such. In a resumed conversation, a command that gives no reason for it looks like a plain one.',
    'It does not get the MCP servers of the person: it reads their resources without asking.',
    'A login in the keyring of the system is not found, because it belongs to another home: set cli_auth_credentials_store to "file" and log in again.',
    'It does not use its sandbox below the folder for temporary files.',
    'AGENTS.md and the skills of the project are read by Codex itself, without a call.',
    'It waits out a temporary refusal (429) with a delay in silence: the turn is ended instead.',
    'When it is ended in the middle of a command, it may leave empty .agents, .aws and .codex folders in the project.',
    'Its ACP adapter sends no request in its default mode, and a refusal there ends the whole turn.',
  ],
}
