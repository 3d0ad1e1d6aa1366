import { secretId } from '../../base/ids.ts'
import { openGuard } from '../../base/process/guardian.ts'
import type { Driver } from '../../domain/session.ts'
import { AgentProcess } from '../agent-process.ts'
import type { DriverOptions } from '../driver-options.ts'
import { codexManifest } from '../manifests/codex.ts'
import { isThreadId, threadState } from './past-threads.ts'
import { CodexSession } from './session.ts'

/** A person at a terminal may be away for a while; whoever asks decides sooner when to park. */
const ASK_DEADLINE_MS = 60 * 60_000
/** It starts within a second, on a crowded machine in some; one that says nothing for this long never will. */
const START_MS = 90_000
/** One that was told to stop and does not is ended. */
const STOP_MS = 15_000

export interface CodexDriverOptions extends DriverOptions {
  /** The program and the words before `app-server`; `codex` when absent. */
  command?: string[] | undefined
  /** How long it may take to introduce itself and to open a conversation. */
  startMs?: number | undefined
  /** How long it may take to stop. */
  stopMs?: number | undefined
}

/** Drives Codex through `codex app-server`. */
export function codexDriver(options: CodexDriverOptions = {}): Driver {
  const { executable, command, appendPrompt, log = () => undefined } = options
  const { askDeadlineMs = ASK_DEADLINE_MS, startMs = START_MS, stopMs = STOP_MS } = options
  const program = command ?? [executable ?? 'codex']
  const guard = openGuard()
  return {
    agent: 'codex',
    isVendorId: isThreadId,
    conversationState: (vendorId, { env }) => threadState(vendorId, env),
    async open(open) {
      log(`session ${open.id}: starts Codex (${guard.level(open.isolation)})`)
      const process = new AgentProcess({
        manifest: codexManifest,
        guard,
        isolation: open.isolation,
        marker: open.marker ?? secretId(16),
        log: line => log(`session ${open.id}: ${line}`),
      })
      const seat = { manifest: codexManifest, process, program, appendPrompt, askDeadlineMs, startMs, stopMs, log }
      return new CodexSession(open, seat)
    },
    // It starts in a third of a second, and a process that waits would have to be told everything again.
    warm: async () => undefined,
    cool: async () => undefined,
    close: async () => undefined,
  }
}
