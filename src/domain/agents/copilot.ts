import type { AgentDefinition, Vendor } from './definition.ts'

/** Overrides the person's settings: what they allowed in their own terminal would not be asked here. */
const SETTINGS = {
  defaultPermissionMode: 'manual',
  hooks: {},
  allowedUrls: [],
  trustedFolders: [],
  experimental: false,
  memory: false,
  autoUpdate: false,
  bashEnv: false,
  ide: { autoConnect: false },
}

/**
 * Tools that it would use unasked: subagents, whose calls are not asked with their id, a database of its own, and what is typed into a
 * command that runs.
 */
const EXCLUDED = ['task', 'read_agent', 'list_agents', 'write_agent', 'sql', 'write_bash']

const vendor: Vendor = {
  tag: 'copilot',
  // Named one by one: others, such as COPILOT_ALLOW_ALL, change what it asks about.
  env: [
    'COPILOT_GITHUB_TOKEN',
    'COPILOT_GH_HOST',
    'COPILOT_HOME',
    'COPILOT_MODEL',
    'COPILOT_OFFLINE',
    'COPILOT_PROVIDER_API_KEY',
    'COPILOT_PROVIDER_BASE_URL',
    'COPILOT_PROVIDER_BEARER_TOKEN',
    'COPILOT_PROVIDER_HEADERS',
    'COPILOT_PROVIDER_MAX_OUTPUT_TOKENS',
    'COPILOT_PROVIDER_MAX_PROMPT_TOKENS',
    'COPILOT_PROVIDER_MODEL_ID',
    'COPILOT_PROVIDER_TRANSPORT',
    'COPILOT_PROVIDER_TYPE',
    'COPILOT_PROVIDER_WIRE_API',
    'COPILOT_PROVIDER_WIRE_MODEL',
  ],
  prefixes: ['COPILOT'],
  addresses: ['COPILOT_PROVIDER_BASE_URL'],
  host: 'api.githubcopilot.com',
  credentials: [
    ['COPILOT_PROVIDER_BEARER_TOKEN', 'token'],
    ['COPILOT_PROVIDER_API_KEY', 'API key'],
    ['COPILOT_GITHUB_TOKEN', 'GitHub token'],
  ],
  login: { variable: 'COPILOT_HOME', folder: '.copilot', file: 'config.json', command: 'copilot login' },
}

/** Copilot CLI in its own ACP mode. */
export const copilotAgent: AgentDefinition = {
  kind: 'copilot',
  name: 'Copilot CLI',
  speaker: 'Copilot',
  package: '@github/copilot',
  commandLine: { protocol: ['--acp'], flags: { '--model': 'value', '--log-level': 'value' } },
  vendor,
  settingsFolder: '.copilot',
  revision: 1,
  verified: ['1.0.102'],
  speaks: 'acp',
  start: {
    command: 'copilot',
    args: [
      '--acp',
      '--no-auto-update',
      '--no-remote',
      '--disable-builtin-mcps',
      `--excluded-tools=${EXCLUDED.join(',')}`,
    ],
    env: { COPILOT_ALLOW_ALL: 'false', COPILOT_AUTO_UPDATE: 'false' },
    // Its setting disableAllHooks has no effect over ACP.
    runsUnasked: ['.github/hooks'],
    files: {},
    home: {
      variable: 'COPILOT_HOME',
      unset: '.copilot',
      folder: '',
      settings: 'settings.json',
      over: SETTINGS,
      shared: ['config.json'],
      sharedFolders: ['session-state', 'logs'],
      // Its servers, plugins, agents and saved permissions would act unasked.
      links: 'shared',
      beside: [],
    },
    model: { args: ['--model', '{model}'] },
    install: 'npm install -g @github/copilot',
    serves: { files: false, terminals: false },
  },
  hold: 'writes',
  heldBy:
    'its own permissions, which ask about every command and every change; files inside the project are read and searched unasked',
  modes: {
    work: 'https://agentclientprotocol.com/protocol/session-modes#agent',
    known: ['agent', 'plan', 'autopilot'].map(mode => `https://agentclientprotocol.com/protocol/session-modes#${mode}`),
  },
  readOnly: 'every call of another tool is refused',
  limits: 'an error of the turn, in the words of its vendor',
  resume: 'load',
  forks: false,
  tools: { nameIn: 'name', known: {} },
  refusalEndsTurn: true,
  ownWords: {
    notices:
      '^Info: (/|Request failed|Response was interrupted|The conversation exceeded|Operation cancelled|Compacti|Conversation compact)',
    errors: '^Error: ',
    record: '{home}/session-state/{session}/events.jsonl',
  },
  sandbox: {
    // All else it finds in its own home. Its login names plugins, too.
    folder: {
      ...{ name: '.copilot', variable: 'COPILOT_HOME', linked: true },
      ...{ copies: ['config.json'], kept: ['session-state'], shown: ['settings.json'] },
      ...{ writable: [], readOnly: [], login: [], programsIn: [] },
    },
    caches: ['.cache/copilot'],
    hosts: ['api.githubcopilot.com', '*.githubcopilot.com', 'api.github.com', 'github.com'],
    addresses: ['COPILOT_PROVIDER_BASE_URL'],
  },
  departs: {
    'tools.done': 'none',
    'tools.refused': 'none',
    'tools.ask': 'none',
    'tools.park': 'none',
    'turn.plan': 'untold',
    'turn.every-call-asked': 'reads-run',
    'turn.cost': 'untold',
    'failure.retries': 'untold',
    'limit.told': 'no-reset',
    subagent: 'none',
    question: 'none',
    'question.declined': 'none',
    'question.late': 'none',
    'stop.pause-subagent': 'none',
    'stop.prompt-in-turn': 'after',
    'park.call': 'gone',
    'park.question': 'none',
    'park.batch': 'gone',
    'resume.fork': 'none',
    warm: 'none',
    reuse: 'none',
  },
  quirks: [
    'It is not started in a project with .github/hooks: over ACP it runs these hooks unasked, and no setting switches them off.',
    'It says its own errors as if the model had said them. They count only if its own record of the conversation has them.',
    'A refused call ends the whole turn: it gets the reason with another prompt and goes on.',
    'Your own servers, plugins, agents, hooks and saved permissions are not loaded; your login is.',
    'Subagents, its database tool and typing into a running command are off.',
  ],
}
