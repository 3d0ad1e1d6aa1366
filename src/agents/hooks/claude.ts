import type { HookEvent, HookManifest } from '../../domain/hooks.ts'
import { findExitCode, outputText, readCommonFields, readEvent, readStreams } from './read-event.ts'

/** Claude Code. Its tools have our names. */
export const claudeHooks: HookManifest = {
  vendor: 'claude',
  name: 'Claude Code',
  verified: { by: 'run', versions: ['2.1.325'] },
  range: { from: '2.1.0' },
  schemas: { from: 1, to: 1 },
  events: {
    session_start: ['SessionStart'],
    session_end: ['SessionEnd'],
    prompt: ['UserPromptSubmit'],
    tool_before: ['PreToolUse'],
    permission: ['PermissionRequest'],
    tool_after: ['PostToolUse', 'PostToolUseFailure'],
    stop: ['Stop', 'SubagentStop'],
    failure: ['StopFailure'],
    compaction: ['PreCompact'],
    notification: ['Notification'],
  },
  decisions: {
    tool_before: { allow: 'kept', deny: 'kept', ask: 'kept' },
    permission: { allow: 'kept', deny: 'kept', ask: 'silence' },
  },
  stops: true,
  context: ['session_start', 'prompt', 'tool_after'],
  notices: true,
  questions: 'input',
  cwd: 'session',
  failures: { crash: 'blocks', hang: 'blocks', nonsense: 'blocks' },
  timeouts: { tool_before: 60, permission: 60, stop: 600, other: 15 },
  comments: false,
}

export function readClaude(native: string, stdin: unknown): HookEvent | undefined {
  return readEvent(claudeHooks, { native, stdin }, given => {
    const output = outputText(given['error'] ?? given['tool_response'])
    return {
      ...readCommonFields(given),
      tool: given['tool_name'],
      input: given['tool_input'],
      ok: native !== 'PostToolUseFailure',
      output,
      streams: readStreams(given['tool_response']),
      exit_code: native === 'PostToolUseFailure' ? findExitCode(output) : undefined,
      duration_ms: given['duration_ms'],
      text: given['prompt'] ?? given['last_assistant_message'] ?? given['message'] ?? '',
      type: given['notification_type'],
      error_type: String(given['error'] ?? 'unknown'),
      message: given['message'] ?? given['last_assistant_message'] ?? '',
    }
  })
}
