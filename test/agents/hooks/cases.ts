import type { HookAnswer, HookVendor } from '../../../src/domain/hooks.ts'

/** A run of a real program, and which of its hooks become fixtures. */
export interface RecordedRun {
  vendor: HookVendor
  notes: string
  /** The call that the model makes before it is done. */
  tool?: Record<string, unknown>
  /** What the model does instead, as in a scenario. */
  turns?: unknown[]
  /** Other conversations of the model, as in a scenario. */
  others?: unknown[]
  says: Record<string, Partial<HookAnswer>>
  args?: string[]
  exit?: number
  /** The name of the case by the vendor's event. */
  keep: Record<string, string>
  /** Whether the call must have run. */
  ran?: boolean
  /** What the model must have been told, and must not. */
  told?: string[]
}

const REASON = 'This needs another way.'
const DENY: Partial<HookAnswer> = { decision: 'deny', reason: REASON }
const ASK: Partial<HookAnswer> = { decision: 'ask', reason: REASON }
const CONTINUE: Partial<HookAnswer> = { decision: 'continue', reason: 'The test fails.' }
const context = (text: string): Partial<HookAnswer> => ({ context: `Remember ${text}.` })
const REMEMBERED = ['Remember start.', 'Remember prompt.', 'Remember result.', 'The test fails.']
const PATCH = [
  ...['*** Begin Patch', '*** Add File: marker', '+hello', '*** Update File: README.md'],
  ...['@@', '-# sample', '+# other', '*** End Patch'],
].join('\n')

const NOTES = {
  allow: 'An everyday call is allowed. A turn without anything else.',
  deny: 'A call is refused with a reason, in the mode in which the vendor asks nobody.',
  ask: 'A person must decide, and nobody is there. Claude Code refuses without PermissionRequest; Gemini CLI ends its run with exit code 0.',
  context: 'Context is added at three events, and the first stop is refused.',
  patch: 'A patch of two files is judged file by file.',
  elsewhere: 'The model chooses another folder for its call.',
  failed: 'The command fails.',
  permission: 'The vendor would ask a person, and the hook answers instead.',
  subagent: 'A subagent is sent back at its first stop.',
}

/** One row of the same runs for each vendor. */
interface Words {
  vendor: HookVendor
  /** A shell call. */
  shell(command: string): Record<string, unknown>
  /** Flags with which it asks nobody. */
  unasked: string[]
  start: string
  prompt: string
  before: string
  after: string
  stop: string
  end: string
}

const WORDS: Words[] = [
  {
    vendor: 'claude',
    shell: command => ({ Bash: { command } }),
    unasked: ['--dangerously-skip-permissions'],
    ...{ start: 'SessionStart', prompt: 'UserPromptSubmit', before: 'PreToolUse', after: 'PostToolUse' },
    ...{ stop: 'Stop', end: 'SessionEnd' },
  },
  {
    vendor: 'codex',
    shell: cmd => ({ exec_command: { cmd } }),
    unasked: [],
    ...{ start: 'SessionStart', prompt: 'UserPromptSubmit', before: 'PreToolUse', after: 'PostToolUse' },
    ...{ stop: 'Stop', end: 'SessionEnd' },
  },
  {
    vendor: 'gemini',
    shell: command => ({ run_shell_command: { command } }),
    unasked: ['--approval-mode', 'yolo'],
    ...{ start: 'SessionStart', prompt: 'BeforeAgent', before: 'BeforeTool', after: 'AfterTool' },
    ...{ stop: 'AfterAgent', end: 'SessionEnd' },
  },
  {
    vendor: 'copilot',
    shell: command => ({ bash: { command, description: 'a step' } }),
    unasked: ['--allow-all-tools'],
    ...{ start: 'sessionStart', prompt: 'userPromptSubmitted', before: 'preToolUse', after: 'postToolUse' },
    ...{ stop: 'agentStop', end: 'sessionEnd' },
  },
]

const TOUCH = 'touch {{marker}}'

export const RECORDED_RUNS: RecordedRun[] = [
  ...WORDS.flatMap(commonRuns),
  {
    ...{ vendor: 'claude', notes: NOTES.failed, tool: { Bash: { command: 'echo no; exit 3' } }, says: {} },
    args: ['--dangerously-skip-permissions'],
    keep: { PostToolUseFailure: 'failed' },
  },
  {
    ...{ vendor: 'claude', notes: NOTES.permission, tool: { Bash: { command: TOUCH } } },
    ...{ says: { PermissionRequest: { decision: 'allow' } }, keep: { PermissionRequest: 'allow' }, ran: true },
  },
  {
    ...{ vendor: 'claude', notes: NOTES.permission, tool: { Bash: { command: TOUCH } } },
    says: { PermissionRequest: DENY },
    ...{ keep: { PermissionRequest: 'deny' }, ran: false, told: [REASON] },
  },
  {
    ...{ vendor: 'claude', notes: NOTES.subagent, args: ['--dangerously-skip-permissions'] },
    tool: { Agent: { description: 'look', prompt: 'Look around.', subagent_type: 'general-purpose' } },
    others: [{ match: 'Look around.', turns: [{ text: 'I looked.' }, { text: 'I looked again.' }] }],
    ...{ says: { SubagentStop: CONTINUE }, keep: { SubagentStop: 'continue' }, told: ['The test fails.'] },
  },
  {
    ...{ vendor: 'codex', notes: NOTES.patch, tool: { apply_patch: { input: PATCH } } },
    says: { PreToolUse: { decision: 'allow' } },
    ...{ keep: { PreToolUse: 'patch', PostToolUse: 'patch' }, ran: true },
  },
  {
    ...{ vendor: 'codex', notes: NOTES.elsewhere, tool: { exec_command: { cmd: TOUCH, workdir: '/tmp' } } },
    says: { PreToolUse: DENY },
    ...{ keep: { PreToolUse: 'elsewhere' }, ran: false, told: [REASON] },
  },
  {
    ...{ vendor: 'gemini', notes: 'A file is written.', args: ['--approval-mode', 'yolo'] },
    tool: { write_file: { file_path: '{{marker}}', content: 'hello' } },
    ...{ says: { BeforeTool: DENY }, keep: { BeforeTool: 'write' }, ran: false, told: [REASON] },
  },
  {
    ...{ vendor: 'copilot', notes: 'A file is written.', args: ['--allow-all-tools'] },
    tool: { create: { path: '{{marker}}', file_text: 'hello' } },
    ...{ says: { preToolUse: DENY }, keep: { preToolUse: 'write' }, ran: false, told: [REASON] },
  },
  {
    ...{ vendor: 'copilot', notes: NOTES.permission, tool: { bash: { command: TOUCH, description: 'a step' } } },
    ...{ says: { permissionRequest: { decision: 'allow' } }, keep: { permissionRequest: 'allow' }, ran: true },
  },
  {
    ...{ vendor: 'copilot', notes: 'The vendor refuses the request.', args: ['--allow-all-tools'] },
    ...{ turns: [{ fault: { kind: 'model_not_found' } }], exit: 1 },
    ...{ says: {}, keep: { errorOccurred: 'failed' } },
  },
  {
    ...{ vendor: 'copilot', notes: NOTES.permission, tool: { bash: { command: TOUCH, description: 'a step' } } },
    args: ['--allow-all-tools'],
    says: { permissionRequest: DENY },
    ...{ keep: { permissionRequest: 'deny' }, ran: false, told: [REASON] },
  },
]

/** An event that no run of ours brings about, written after the vendor's documentation. */
export interface DocumentedEvent {
  vendor: HookVendor
  native: string
  name: string
  stdin: Record<string, unknown>
}

const SESSION = '00000000-0000-0000-0000-000000000000'
const snake = (native: string, transcript_path: string) => ({
  ...{ session_id: SESSION, transcript_path, cwd: '/proj', hook_event_name: native },
})
const CLAUDE_RECORD = `/home/agent/.claude/projects/-proj/${SESSION}.jsonl`
const CODEX_RECORD = `/home/agent/.codex/sessions/2026/01/01/rollout-${SESSION}.jsonl`
const camel = { sessionId: SESSION, cwd: '/proj', timestamp: 0 }

export const DOCUMENTED: DocumentedEvent[] = [
  {
    ...{ vendor: 'claude', native: 'StopFailure', name: 'limit' },
    stdin: {
      ...snake('StopFailure', CLAUDE_RECORD),
      error: 'rate_limit',
      last_assistant_message: 'You hit your limit',
    },
  },
  {
    ...{ vendor: 'claude', native: 'PreCompact', name: 'auto' },
    stdin: { ...snake('PreCompact', CLAUDE_RECORD), trigger: 'auto', custom_instructions: '' },
  },
  {
    ...{ vendor: 'claude', native: 'Notification', name: 'permission' },
    stdin: {
      ...snake('Notification', CLAUDE_RECORD),
      ...{ message: 'Claude needs your permission to use Bash', notification_type: 'permission_prompt' },
    },
  },
  {
    ...{ vendor: 'codex', native: 'PreCompact', name: 'auto' },
    stdin: { ...snake('PreCompact', CODEX_RECORD), turn_id: 't', model: 'gpt-5.5', trigger: 'auto' },
  },
  {
    ...{ vendor: 'gemini', native: 'Notification', name: 'permission' },
    stdin: {
      ...snake('Notification', '/home/agent/.gemini/tmp/proj/chats/session.jsonl'),
      ...{
        timestamp: '2026-01-01T00:00:00.000Z',
        notification_type: 'ToolPermission',
        message: 'Tool needs permission',
      },
    },
  },
  {
    ...{ vendor: 'copilot', native: 'preCompact', name: 'auto' },
    stdin: { ...camel, transcriptPath: '/home/agent/.copilot/session-state/events.jsonl', trigger: 'auto' },
  },
  {
    ...{ vendor: 'copilot', native: 'notification', name: 'permission' },
    stdin: { ...camel, message: 'Copilot needs your permission', notification_type: 'permission_prompt' },
  },
]

function commonRuns(words: Words): RecordedRun[] {
  const { vendor, shell, unasked, start, prompt, before, after, stop, end } = words
  const run = { vendor, tool: shell(TOUCH), args: unasked }
  return [
    {
      ...{ ...run, notes: NOTES.allow, says: { [before]: { decision: 'allow' } }, ran: true },
      keep: {
        [start]: 'plain',
        [prompt]: 'plain',
        [before]: 'allow',
        [after]: 'plain',
        [stop]: 'plain',
        [end]: 'plain',
      },
    },
    { ...run, notes: NOTES.deny, says: { [before]: DENY }, keep: { [before]: 'deny' }, ran: false, told: [REASON] },
    { ...run, notes: NOTES.ask, says: { [before]: ASK }, keep: { [before]: 'ask' }, ran: false },
    {
      ...{ ...run, notes: NOTES.context, told: REMEMBERED, ran: true },
      says: {
        [start]: context('start'),
        [prompt]: context('prompt'),
        [after]: context('result'),
        [stop]: CONTINUE,
      },
      keep: { [start]: 'context', [prompt]: 'context', [after]: 'context', [stop]: 'continue' },
    },
  ]
}
