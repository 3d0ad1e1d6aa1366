import type { HookAnswer, HookEvent, HookManifest, HookOutput, HookVendor } from '../../domain/hooks.ts'
import { claudeHooks, readClaude } from './claude.ts'
import { codexHooks, readCodex } from './codex.ts'
import { copilotHooks, readCopilot } from './copilot.ts'
import { geminiHooks, readGemini } from './gemini.ts'
import { renderAnswer } from './render.ts'

export interface HookTranslator {
  manifest: HookManifest
  /**
   * What the vendor sent, as text or as parsed JSON; undefined if it cannot be understood, and then the hook refuses. `folder` is the
   * working directory of the hook's process; it must be given where the manifest says that `cwd` is the call's.
   */
  read(native: string, stdin: unknown, folder?: string): HookEvent | undefined
  render(event: HookEvent, answer: HookAnswer): HookOutput
}

const TRANSLATORS: Record<HookVendor, Pick<HookTranslator, 'manifest' | 'read'>> = {
  claude: { manifest: claudeHooks, read: readClaude },
  codex: { manifest: codexHooks, read: readCodex },
  gemini: { manifest: geminiHooks, read: readGemini },
  copilot: { manifest: copilotHooks, read: readCopilot },
}

export function hookTranslator(vendor: HookVendor): HookTranslator {
  const { manifest, read } = TRANSLATORS[vendor]
  return { manifest, read, render: (event, answer) => renderAnswer(manifest, event, answer) }
}
