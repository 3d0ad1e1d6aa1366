import type { HookOutput, HookVendor } from '../../domain/hooks.ts'

/** What is printed when nothing else worked: a refusal for events that decide, nothing for others. */
export function refuseHook(vendor: HookVendor, native: string, reason: string): HookOutput {
  if (!DECIDE.has(`${vendor} ${native}`)) return { stdout: '', stderr: '', exit: 0 }
  return { stdout: '', stderr: reason, exit: 2 }
}

const DECIDE = new Set([
  ...['claude PreToolUse', 'claude PermissionRequest', 'codex PreToolUse', 'codex PermissionRequest'],
  ...['gemini BeforeTool', 'copilot preToolUse', 'copilot permissionRequest'],
])
