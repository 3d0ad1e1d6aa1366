import { secretId } from '../../base/ids.ts'
import { openGuard } from '../../base/process/guardian.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { Driver } from '../../domain/session.ts'
import { AgentProcess } from '../agent-process.ts'
import type { DriverOptions } from '../driver-options.ts'
import { sandboxFor } from '../sandbox/sandbox-for.ts'
import { AcpSession } from './session.ts'

/** A person at a terminal may be away for a while; whoever asks decides sooner when to park. */
const ASK_DEADLINE_MS = 60 * 60_000
/** Some agents load for seconds, on a crowded machine for many; one that says nothing for this long never will. */
const START_MS = 90_000

/** An agent that was told to stop and does not is ended. */
const STOP_MS = 15_000

export interface AcpDriverOptions extends DriverOptions {
  /** The program and the words before the manifest's own; the manifest's command when absent. */
  command?: string[] | undefined
  /** How long an agent may take to introduce itself and to open a session. */
  startMs?: number | undefined
  /** How long it may take to stop. */
  stopMs?: number | undefined
}

/** Drives an agent that speaks the Agent Client Protocol, as its manifest says. */
export function acpDriver(manifest: AgentManifest, options: AcpDriverOptions = {}): Driver {
  const { executable, command, log = () => undefined } = options
  const { askDeadlineMs = ASK_DEADLINE_MS, startMs = START_MS, stopMs = STOP_MS } = options
  const guard = openGuard()
  return {
    agent: manifest.kind,
    cold: true,
    ...(manifest.resume === 'none' && { conversationState: async () => 'missing' as const }),
    async open(open) {
      const sandbox = await sandboxFor(manifest, open, line => log(`session ${open.id}: ${line}`))
      const fence = sandbox ? `${guard.level(open.isolation)}, sandbox` : guard.level(open.isolation)
      log(`session ${open.id}: starts ${manifest.name} (${fence})`)
      const process = new AgentProcess({
        manifest,
        guard,
        isolation: open.isolation,
        marker: open.marker ?? secretId(16),
        sandbox,
        log: line => log(`session ${open.id}: ${line}`),
      })
      const program = command ?? (executable === undefined ? undefined : [executable])
      // What we do is done outside: an agent in a sandbox reads, writes and runs by itself.
      const serves = sandbox ? { files: false, terminals: false } : manifest.start.serves
      const seat = { manifest, process, guard, serves, program, askDeadlineMs, startMs, stopMs, log }
      return new AcpSession(open, seat)
    },
    // A process that waits would have to be told everything again: nothing is started ahead of time.
    warm: async () => undefined,
    cool: async () => undefined,
    close: async () => undefined,
  }
}
