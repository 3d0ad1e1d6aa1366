import { isObject } from '../../base/json.ts'
import { quoteForShell } from '../../base/words.ts'
import { geminiAgent } from '../../domain/agents/gemini.ts'
import type { HookEvent, HookManifest } from '../../domain/hooks.ts'
import { callFields, findExitCode, nameByTable, outputText, readCommonFields, readEvent } from './read-event.ts'

/**
 * Gemini CLI says neither its mode nor the id of a call. Two events run too often to be asked for: AfterModel, which has the usage, for
 * every piece of an answer, and PreCompress before every request to the model, whether it compacts or not.
 */
export const geminiHooks: HookManifest = {
  vendor: 'gemini',
  name: 'Gemini CLI',
  verified: { by: 'run', versions: ['0.61.0'] },
  range: { from: '0.61.0' },
  schemas: { from: 1, to: 1 },
  events: {
    session_start: ['SessionStart'],
    session_end: ['SessionEnd'],
    prompt: ['BeforeAgent'],
    tool_before: ['BeforeTool'],
    tool_after: ['AfterTool'],
    stop: ['AfterAgent'],
    notification: ['Notification'],
  },
  decisions: {
    // Gemini CLI asks the person by its own policy whether a hook allowed the call or not.
    tool_before: { allow: 'silence', deny: 'kept', ask: 'kept' },
    permission: { allow: 'silence', deny: 'silence', ask: 'silence' },
  },
  stops: true,
  context: ['session_start', 'prompt', 'tool_after'],
  notices: true,
  questions: 'refusal',
  cwd: 'session',
  failures: { crash: 'runs', hang: 'runs', nonsense: 'runs' },
  behind:
    'Do not use --yolo, and keep a rule that asks in ~/.gemini/policies: if our hook fails, Gemini CLI goes on by its own policy.',
  timeouts: { tool_before: 60, stop: 600, other: 15 },
  comments: true,
}

/** Tools that only hooks see, beside those of the driver. */
const TOOLS: Record<string, string> = {
  ...Object.fromEntries(Object.entries(geminiAgent.tools.known).map(([name, { tool }]) => [name, tool])),
  web_fetch: 'WebFetch',
  ask_user: 'AskUserQuestion',
  activate_skill: 'Skill',
  invoke_agent: 'Agent',
  generalist: 'Agent',
  update_topic: 'TodoWrite',
  enter_plan_mode: 'EnterPlanMode',
  exit_plan_mode: 'ExitPlanMode',
  list_background_processes: 'TaskList',
  read_background_output: 'BashOutput',
}
const FIELDS: Record<string, Record<string, string>> = {
  list_directory: { dir_path: 'path' },
  glob: { dir_path: 'path' },
  grep_search: { dir_path: 'path', include_pattern: 'glob', include: 'glob' },
  search_file_content: { dir_path: 'path', include_pattern: 'glob', include: 'glob' },
}

export function readGemini(native: string, stdin: unknown): HookEvent | undefined {
  return readEvent(geminiHooks, { native, stdin }, given => {
    const response = isObject(given['tool_response']) ? given['tool_response'] : {}
    const output = outputText(response['llmContent'])
    const exit_code = findExitCode(output)
    return {
      ...readCommonFields(given),
      ...readCall(given),
      ok: (exit_code ?? 0) === 0 && (response['error'] === undefined || response['error'] === null),
      output,
      exit_code,
      text: given['prompt_response'] ?? given['prompt'] ?? given['message'] ?? '',
      type: given['notification_type'],
    }
  })
}

function readCall({ tool_name: name, tool_input: input, mcp_context: mcp }: Record<string, unknown>) {
  if (typeof name !== 'string' || !isObject(input)) return {}
  if (isObject(mcp) && typeof mcp['server_name'] === 'string' && typeof mcp['tool_name'] === 'string')
    return { tool: `mcp__${mcp['server_name']}__${mcp['tool_name']}`, input }
  const { command, dir_path } = input
  if (name === 'run_shell_command' && typeof command === 'string' && typeof dir_path === 'string')
    return { tool: 'Bash', input: { ...input, command: `cd -- ${quoteForShell(dir_path)} && ${command}` } }
  if (name === 'web_fetch') return callFields(name, readAddresses(input))
  return { ...nameByTable({ name, input }, TOOLS, FIELDS[name] ?? {}) }
}

/** `web_fetch` takes a prompt with addresses in it and fetches them all. */
function readAddresses({ prompt, url }: Record<string, unknown>) {
  const text = [prompt, url].filter(part => typeof part === 'string').join(' ')
  const urls = new Set(text.match(/https?:\/\/[^\s"'<>)\]]+/g))
  return [...urls].map(url => ({ tool: 'WebFetch', input: { url, prompt } }))
}
