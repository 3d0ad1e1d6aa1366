import type { AgentDefinition, Vendor } from './definition.ts'

/** A policy above every other: nothing is allowed without an ask. Gemini CLI itself still lets plain reading commands pass. */
const GATE = ['[[rule]]', 'toolName = "*"', 'decision = "ask_user"', 'priority = 999', ''].join('\n')

/**
 * Even in an untrusted project Gemini CLI reads these variables from a `.env`: with them a project could run the work on an account of its
 * own and read along. Its own ways to ignore the file are a flag that its parser refuses and a setting that is not ours to write.
 */
const ACCOUNT_VARIABLES = ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION']

/** Named one by one, as for Claude Code, because other variables of it change what it asks about. */
const vendor: Vendor = {
  tag: 'gemini',
  env: [
    'GEMINI_API_KEY',
    'GEMINI_MODEL',
    'GEMINI_CLI_HOME',
    'GOOGLE_API_KEY',
    'GOOGLE_GEMINI_BASE_URL',
    'GOOGLE_VERTEX_BASE_URL',
    'GOOGLE_GENAI_USE_VERTEXAI',
    'GOOGLE_GENAI_USE_GCA',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_CLOUD_LOCATION',
    'GOOGLE_APPLICATION_CREDENTIALS if GOOGLE_GENAI_USE_VERTEXAI',
  ],
  prefixes: ['GEMINI'],
  addresses: ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL'],
  host: 'generativelanguage.googleapis.com',
  credentials: [
    ['GEMINI_API_KEY', 'API key'],
    ['GOOGLE_API_KEY', 'API key'],
  ],
  login: {
    ...{ variable: 'GEMINI_CLI_HOME', below: '.gemini', folder: '.gemini', file: 'oauth_creds.json' },
    command: 'gemini (it asks how at its first start)',
  },
}

/** Gemini CLI in its own ACP mode. */
export const geminiAgent: AgentDefinition = {
  kind: 'gemini',
  name: 'Gemini CLI',
  speaker: 'Gemini',
  package: '@google/gemini-cli',
  commandLine: { protocol: ['--acp', '--experimental-acp'], flags: { '-m': 'value', '--model': 'value' } },
  vendor,
  settingsFolder: '.gemini',
  revision: 3,
  verified: ['0.61.0'],
  speaks: 'acp',
  start: {
    command: 'gemini',
    args: ['--acp', '--admin-policy', '{files}/gate.toml'],
    // Otherwise servers, hooks and extensions of the project would run at the start, before any ask.
    env: {
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GEMINI_CLI_TRUST_WORKSPACE: 'false',
    },
    pinned: ACCOUNT_VARIABLES,
    files: { 'gate.toml': GATE },
    home: {
      variable: 'GEMINI_CLI_HOME',
      folder: '.gemini',
      settings: 'settings.json',
      // One try: by default Gemini CLI makes ten, waits minutes between them, and reports nothing until the last one.
      over: { general: { maxAttempts: 1 } },
      shared: ['oauth_creds.json', 'google_accounts.json', 'gemini-credentials.json', 'installation_id', 'state.json'],
      sharedFolders: ['tmp', 'history'],
      beside: ['.agents'],
    },
    model: { args: ['--model', '{model}'] },
    install: 'npm install -g @google/gemini-cli',
    // If we served files, a write would be asked about twice, because Gemini CLI asks too, and it could write no new file.
    serves: { files: false, terminals: false },
  },
  hold: 'writes',
  heldBy: 'a policy that makes it ask about every tool; cat, ls, grep and the like run inside the project unasked',
  modes: { work: 'default', readOnly: 'plan', known: ['default', 'autoEdit', 'yolo', 'plan'] },
  readOnly: 'plan mode, and every call of another tool is refused',
  limits: 'an error of the turn with the status 429 and, of a login, the time to the reset',
  resume: 'none',
  forks: false,
  tools: {
    nameIn: 'call-id',
    known: {
      run_shell_command: { tool: 'Bash', input: { command: ['title'] } },
      write_file: { tool: 'Write', input: { file_path: ['diff.path', 'location'], content: ['diff.new'] } },
      replace: {
        tool: 'Edit',
        input: { file_path: ['diff.path', 'location'], old_string: ['diff.old'], new_string: ['diff.new'] },
      },
      read_file: { tool: 'Read', input: { file_path: ['location'] } },
      list_directory: { tool: 'LS', input: { path: ['location', 'title'] } },
      glob: { tool: 'Glob', input: { pattern: ['title'] } },
      grep_search: { tool: 'Grep', input: { pattern: ['title'] } },
      search_file_content: { tool: 'Grep', input: { pattern: ['title'] } },
      google_web_search: { tool: 'WebSearch', input: { query: ['title'] } },
      write_todos: { tool: 'TodoWrite', input: { title: ['title'] } },
      save_memory: { tool: 'Write', input: { file_path: ['location'] } },
    },
  },
  silentRefusals: true,
  forgetsBrokenTurns: true,
  sandbox: {
    // Its conversations, and repositories with what it has changed, go with the sandbox: it resumes none, and the person's next one would run
    // what is beside them.
    folder: {
      ...{ name: '.gemini', variable: 'GEMINI_CLI_HOME', below: '.gemini', linked: true },
      copies: ['oauth_creds.json', 'google_accounts.json', 'gemini-credentials.json', 'installation_id', 'state.json'],
      shown: [
        ...['settings.json', 'trustedFolders.json', 'trusted_hooks.json', 'mcp-server-enablement.json', '.env'],
        ...['GEMINI.md', 'policies', 'extensions', 'commands', 'agents', 'skills', 'acknowledgments', 'bin'],
      ],
      ...{ writable: [], readOnly: [], login: [], programsIn: [] },
    },
    hosts: [
      'generativelanguage.googleapis.com',
      'cloudcode-pa.googleapis.com',
      'oauth2.googleapis.com',
      'aiplatform.googleapis.com',
      '*-aiplatform.googleapis.com',
    ],
    addresses: ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL', 'CODE_ASSIST_ENDPOINT'],
  },
  departs: {
    'tools.done': 'none',
    'tools.refused': 'none',
    'tools.ask': 'none',
    'tools.park': 'none',
    'turn.plan': 'untold',
    'turn.every-call-asked': 'reads-run',
    'turn.cost': 'untold',
    'turn.context': 'untold',
    'turn.after-failure': 'forgets',
    'refusal.explained': 'unexplained',
    subagent: 'none',
    question: 'none',
    'question.declined': 'none',
    'question.late': 'none',
    'stop.pause': 'forgets',
    'stop.pause-subagent': 'none',
    'stop.prompt-in-turn': 'after',
    'park.call': 'lost',
    'park.question': 'none',
    'park.batch': 'lost',
    resume: 'none',
    'resume.fork': 'none',
    'limit.told': 'no-window',
    'limit.without-reset': 'as-a-time',
    'failure.retries': 'untold',
    warm: 'none',
    reuse: 'none',
  },
  quirks: [
    'It treats every project as untrusted: .gemini, GEMINI.md and a .env, your own too, are not loaded, and no MCP server is started.',
    'It cannot get our tools: it starts no server in an untrusted project, and every other way needs root.',
    'Its answer to session/load is an error, and the attempt damages the conversation: it is never made.',
    'It reports an answer that the vendor withholds as a complete turn without text: it counts as refused.',
    'It reports a refused call to the model as cancelled by the user.',
    'A turn that was stopped between a tool and the next answer, or that failed, is dropped from its conversation.',
    'By default it retries a refusal of the vendor ten times in silence: it gets a home of its own, in which general.maxAttempts is 1.',
  ],
}
