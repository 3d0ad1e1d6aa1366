import { query } from '@anthropic-ai/claude-agent-sdk'
import { secretId } from '../../base/ids.ts'
import { openGuard } from '../../base/process/guardian.ts'
import type { Driver, OpenSession } from '../../domain/session.ts'
import { AgentProcess } from '../agent-process.ts'
import type { DriverOptions } from '../driver-options.ts'
import { claudeManifest } from '../manifests/claude.ts'
import { transcriptState } from './conversations/transcript-state.ts'
import { Gate } from './gate.ts'
import { optionsFor } from './options.ts'
import { OwnServer } from './own-server.ts'
import { bundledProgram } from './program.ts'
import { ClaudeSession } from './session.ts'
import { WarmPool } from './warm/warm-pool.ts'

/** A person at a terminal may be away for a while; whoever asks decides sooner when to park. */
const ASK_DEADLINE_MS = 60 * 60_000
const WARM_FOR_MS = 5 * 60_000
/** A parked call is offered again within a second of the start, on a crowded machine in some. */
const REOFFER_MS = 30_000

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Drives Claude Code through the vendor's library. */
export function claudeDriver(driver: DriverOptions = {}): Driver {
  const { appendPrompt, log = () => undefined } = driver
  const executable = programOnce(driver.executable)
  const { askDeadlineMs = ASK_DEADLINE_MS, warmForMs = WARM_FOR_MS, reofferMs = REOFFER_MS } = driver
  const guard = openGuard()
  const pool = new WarmPool(warmForMs)
  const prepare = (open: OpenSession) => {
    const gate = new Gate(askDeadlineMs)
    const agent = new AgentProcess({
      ...{ manifest: claudeManifest, guard, isolation: open.isolation },
      marker: open.marker ?? secretId(16),
    })
    const own = new OwnServer(open.ownTools ?? [])
    const options = optionsFor(open, { gate, agent, own, executable: executable(), appendPrompt })
    return { seat: { gate, agent, own, askDeadlineMs, reofferMs }, options }
  }
  const cold = (open: OpenSession) => {
    const { seat, options } = prepare(open)
    return { ...seat, query: (prompt: Parameters<typeof query>[0]['prompt']) => query({ prompt, options }) }
  }
  return {
    agent: 'claude',
    isVendorId: id => UUID.test(id),
    conversationState: (vendorId, { cwd, env }) => transcriptState({ vendorId, cwd, env }),
    async open(open) {
      const warm = await pool.take(open)
      log(`session ${open.id}: ${warm ? 'takes a warm process' : 'starts cold'} (${guard.level(open.isolation)})`)
      return new ClaudeSession(open, warm ?? cold(open))
    },
    // A call that was put off is offered as soon as there is a process, and nobody would be there to answer it.
    warm: async open => (answersParked(open) ? undefined : pool.add(open, () => prepare(open))),
    cool: open => pool.remove(open),
    close: () => pool.close(),
  }
}

function answersParked({ prompt, resume }: OpenSession): boolean {
  return resume !== undefined && prompt === undefined
}

/** The vendor's library would look for it at every start, in a report on the whole process that takes 15 ms to write. */
function programOnce(executable: string | undefined): () => string | undefined {
  let found = executable
  return () => {
    try {
      found ??= bundledProgram()
    } catch {
      // It looks for itself, and tells what is missing.
    }
    return found
  }
}
