import { isObject, parseJson } from '../../base/json.ts'
import type { HookEvent, HookManifest } from '../../domain/hooks.ts'
import { readPatch } from './patch.ts'
import { callFields, findExitCode, nameByTable, nameUnknown, outputText, readEvent } from './read-event.ts'

/** Copilot CLI. It says neither its mode nor the id of a call nor the agent's last words, which its record of the conversation has. */
export const copilotHooks: HookManifest = {
  vendor: 'copilot',
  name: 'Copilot CLI',
  verified: { by: 'run', versions: ['1.0.102'] },
  range: { from: '1.0.0' },
  schemas: { from: 1, to: 1 },
  events: {
    session_start: ['sessionStart'],
    session_end: ['sessionEnd'],
    prompt: ['userPromptSubmitted'],
    tool_before: ['preToolUse'],
    permission: ['permissionRequest'],
    tool_after: ['postToolUse', 'postToolUseFailure'],
    stop: ['agentStop', 'subagentStop'],
    compaction: ['preCompact'],
    notification: ['notification'],
    failure: ['errorOccurred'],
  },
  decisions: {
    tool_before: { allow: 'kept', deny: 'kept', ask: 'kept' },
    permission: { allow: 'kept', deny: 'kept', ask: 'silence' },
  },
  stops: true,
  context: ['session_start', 'prompt', 'tool_after'],
  notices: false,
  questions: 'refusal',
  cwd: 'session',
  failures: { crash: 'blocks', hang: 'runs', nonsense: 'runs' },
  behind:
    'Do not use --allow-all-tools or --yolo: if our hook hangs or prints nonsense, Copilot CLI goes on by its own permissions.',
  timeouts: { tool_before: 60, permission: 60, stop: 600, other: 15 },
  comments: false,
}

const TOOLS: Record<string, string> = {
  bash: 'Bash',
  view: 'Read',
  create: 'Write',
  edit: 'Edit',
  glob: 'Glob',
  grep: 'Grep',
  rg: 'Grep',
  web_fetch: 'WebFetch',
  web_search: 'WebSearch',
  fetch_copilot_cli_documentation: 'WebSearch',
  ask_user: 'AskUserQuestion',
  report_intent: 'TodoWrite',
  update_todo: 'TodoWrite',
  skill: 'Skill',
  task: 'Agent',
  write_agent: 'Agent',
  read_agent: 'TaskOutput',
  list_agents: 'TaskList',
  read_bash: 'BashOutput',
  stop_bash: 'KillShell',
  list_bash: 'TaskList',
}
const FILE = { path: 'file_path', file_text: 'content', old_str: 'old_string', new_str: 'new_string' }
const FIELDS: Record<string, Record<string, string>> = { view: FILE, create: FILE, edit: FILE }

export function readCopilot(native: string, stdin: unknown): HookEvent | undefined {
  return readEvent(copilotHooks, { native, stdin }, given => {
    const result = isObject(given['toolResult']) ? given['toolResult'] : {}
    const failure = isObject(given['error']) ? given['error'] : { message: given['error'] }
    const output = outputText(result['textResultForLlm'] ?? failure['message'])
    const exit_code = findExitCode(output)
    return {
      session: given['sessionId'],
      cwd: given['cwd'],
      agent_type: given['agentName'],
      transcript: given['transcriptPath'],
      source: given['source'] ?? 'unknown',
      reason: given['reason'] ?? 'unknown',
      ...readCall(given),
      ok: native === 'postToolUse' && (result['resultType'] ?? 'success') === 'success' && (exit_code ?? 0) === 0,
      output,
      exit_code,
      text: given['prompt'] ?? given['message'] ?? '',
      again: given['stop_hook_active'] ?? false,
      background: 0,
      type: given['notification_type'] ?? given['notificationType'],
      error_type: String(failure['name'] ?? 'unknown'),
      message: String(failure['message'] ?? ''),
    }
  })
}

function readCall({ toolName: name, toolArgs, toolInput }: Record<string, unknown>): Record<string, unknown> {
  const given = toolArgs ?? toolInput
  // Some versions send the arguments as text.
  const args = typeof given === 'string' ? (parseJson(given) ?? { input: given }) : given
  if (typeof name !== 'string' || !isObject(args)) return {}
  if (name === 'apply_patch') {
    const text = args['input'] ?? args['patch']
    const changes = typeof text === 'string' ? readPatch(text) : undefined
    return callFields(name, changes ?? [nameUnknown(name, args)])
  }
  const input = name === 'ask_user' ? readQuestion(args) : args
  return { ...nameByTable({ name, input }, TOOLS, FIELDS[name] ?? {}) }
}

/** A question in our terms. */
function readQuestion({ question, choices }: Record<string, unknown>): Record<string, unknown> {
  const options = Array.isArray(choices) ? choices.map(label => ({ label: String(label), description: '' })) : []
  return typeof question === 'string' ? { questions: [{ question, header: '', multiSelect: false, options }] } : {}
}
