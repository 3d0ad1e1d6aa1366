import type { HookEvent, HookManifest, HookVendor } from '../../domain/hooks.ts'

interface HookTranslator {
  manifest: HookManifest
  read(native: string, stdin: unknown): HookEvent | undefined
}

export function hookTranslator(vendor: HookVendor): HookTranslator {
  return { manifest: MANIFESTS[vendor], read: () => undefined }
}

const KEPT = { allow: 'kept', deny: 'kept', ask: 'kept' } as const
const COMMON = {
  decisions: { tool_before: KEPT, permission: KEPT },
  ...{ runsUnasked: [], stops: true, context: [], questions: false, timeouts: { other: 30 } },
} satisfies Partial<HookManifest>

const MANIFESTS: Record<HookVendor, HookManifest> = {
  claude: {
    ...{ ...COMMON, vendor: 'claude', name: 'Claude Code', onFailure: 'blocks', range: { from: '2.1.0' } },
    verified: { by: 'run', versions: ['2.1.325'] },
    events: {
      ...{ session_start: ['SessionStart'], session_end: ['SessionEnd'], prompt: ['UserPromptSubmit'] },
      ...{ tool_before: ['PreToolUse'], permission: ['PermissionRequest'] },
      ...{ tool_after: ['PostToolUse', 'PostToolUseFailure'], stop: ['Stop', 'SubagentStop'] },
    },
  },
  codex: {
    ...{ ...COMMON, vendor: 'codex', name: 'Codex', onFailure: 'runs', range: { from: '0.160.0' } },
    verified: { by: 'run', versions: ['0.166.0'] },
    events: { session_start: ['SessionStart'], tool_before: ['PreToolUse'], stop: ['Stop'] },
    behind: 'its own sandbox (workspace-write or read-only)',
    needs: 'Codex runs a hook only after you trust it: open codex and agree under /hooks.',
  },
  gemini: {
    ...{ ...COMMON, vendor: 'gemini', name: 'Gemini CLI', onFailure: 'runs', range: { from: '0.60.0' } },
    verified: { by: 'run', versions: ['0.61.0'] },
    events: { session_start: ['SessionStart'], tool_before: ['BeforeTool'], stop: ['AfterAgent'] },
    behind: 'its policy files (~/.gemini/policies)',
  },
  copilot: {
    ...{ ...COMMON, vendor: 'copilot', name: 'Copilot CLI', onFailure: 'runs', range: { from: '0.0.1' } },
    verified: { by: 'docs', versions: [] },
    events: { session_start: ['sessionStart'], tool_before: ['preToolUse'], stop: ['agentStop'] },
    behind: 'its own question for each tool (no --allow-all-tools)',
  },
}
