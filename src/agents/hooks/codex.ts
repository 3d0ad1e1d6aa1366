import { resolve } from 'node:path'
import { isObject } from '../../base/json.ts'
import { quoteForShell } from '../../base/words.ts'
import type { HookEvent, HookManifest } from '../../domain/hooks.ts'
import { readPatch } from './patch.ts'
import {
  callFields,
  findExitCode,
  type NamedCall,
  nameByTable,
  nameUnknown,
  outputText,
  readCommonFields,
  readEvent,
} from './read-event.ts'

export const codexHooks: HookManifest = {
  vendor: 'codex',
  name: 'Codex',
  verified: { by: 'run', versions: ['0.166.0'] },
  range: { from: '0.166.0' },
  schemas: { from: 1, to: 1 },
  events: {
    session_start: ['SessionStart'],
    session_end: ['SessionEnd'],
    prompt: ['UserPromptSubmit'],
    tool_before: ['PreToolUse'],
    permission: ['PermissionRequest'],
    tool_after: ['PostToolUse'],
    stop: ['Stop', 'SubagentStop'],
    compaction: ['PreCompact'],
  },
  decisions: {
    // `allow` before a call means nothing to Codex: its own policy still asks, and then PermissionRequest allows. It takes `ask` for nonsense
    // and runs the call. Silence leaves the call to its approval policy, which no event names: the mode `default` stands for policies that
    // ask about everything and for those that ask about nothing that the sandbox holds.
    tool_before: { allow: 'silence', deny: 'kept', ask: 'deny' },
    permission: { allow: 'kept', deny: 'kept', ask: 'silence' },
  },
  stops: true,
  context: ['session_start', 'prompt', 'tool_after'],
  notices: true,
  questions: 'refusal',
  cwd: 'call',
  failures: { crash: 'runs', hang: 'runs', nonsense: 'runs' },
  behind:
    'Keep the sandbox of Codex on (sandbox_mode = "workspace-write" or "read-only") and an approval policy that asks (approval_policy = "on-request"): if our hook fails, Codex runs the call.',
  timeouts: { tool_before: 60, permission: 60, stop: 600, session_end: 3, other: 15 },
  comments: false,
  needs:
    'Codex runs no hook before a person has trusted it, and again after every change of its command: start codex and choose to trust the hooks, or open /hooks there.',
}

/** Codex's own tools that reach a hook under another name than ours. Plans and goals are notes; the calls of a subagent are judged one by one. */
const TOOLS: Record<string, string> = {
  Bash: 'Bash',
  view_image: 'Read',
  request_user_input: 'AskUserQuestion',
  update_plan: 'TodoWrite',
  get_goal: 'TodoRead',
  create_goal: 'TodoWrite',
  update_goal: 'TodoWrite',
  spawn_agent: 'Agent',
  wait_agent: 'TaskOutput',
  close_agent: 'TaskStop',
  tool_search: 'ToolSearch',
}
const FIELDS = { path: 'file_path' }

/**
 * `folder` is the one in which Codex runs the hook, which is the session's: in events about a call, `cwd` is the folder that the model
 * chose for it. A model that chose `/` would otherwise choose the project by which it is judged.
 */
export function readCodex(native: string, stdin: unknown, folder?: string): HookEvent | undefined {
  return readEvent(codexHooks, { native, stdin }, given => {
    const output = outputText(given['tool_response'])
    const exit_code = findExitCode(output)
    return {
      ...readCommonFields(given),
      cwd: folder ?? given['cwd'],
      ...readCall(given, folder),
      // Codex says nothing of how a command ended, except in the text of a patch.
      ok: (exit_code ?? 0) === 0,
      output,
      exit_code,
      text: given['prompt'] ?? given['last_assistant_message'] ?? '',
    }
  })
}

function readCall(given: Record<string, unknown>, folder: string | undefined): Record<string, unknown> {
  const { tool_name: name, tool_input: input, cwd } = given
  if (typeof name !== 'string' || !isObject(input)) return {}
  const chosen = typeof cwd === 'string' && folder !== undefined && cwd !== folder ? cwd : undefined
  if (name === 'apply_patch') {
    const changes = typeof input['command'] === 'string' ? readPatch(input['command'], chosen) : undefined
    return callFields(name, changes ?? [nameUnknown(name, input)])
  }
  if (/^mcp__.+?__/.test(name)) return { tool: name, input }
  const call = nameByTable({ name, input }, TOOLS, FIELDS)
  return { ...(chosen === undefined ? call : runIn(chosen, call)) }
}

/** A call in another folder than the session's. */
function runIn(cwd: string, { tool, input }: NamedCall): NamedCall {
  const { command, file_path } = input
  if (tool === 'Bash')
    return { tool, input: { ...input, command: `cd -- ${quoteForShell(cwd)} && ${String(command)}` } }
  return typeof file_path === 'string'
    ? { tool, input: { ...input, file_path: resolve(cwd, file_path) } }
    : { tool, input }
}
