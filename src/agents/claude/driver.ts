import { query } from '@anthropic-ai/claude-agent-sdk'
import { isUuid, secretId } from '../../base/ids.ts'
import { openGuard } from '../../base/process/guardian.ts'
import { claudeAgent } from '../../domain/agents/claude.ts'
import type { Driver, OpenSession } from '../../domain/session.ts'
import { AgentProcess, type DriverOptions } from '../agent-process.ts'
import { openAgentSandbox } from '../agent-sandbox.ts'
import { ASK_DEADLINE_MS } from '../checked-asks.ts'
import { bundledProgram } from './bundled-program.ts'
import { ClaudeConnection } from './connection.ts'
import { ClaudeGate } from './gate.ts'
import { KeptProcesses } from './kept-processes.ts'
import { optionsFor } from './options.ts'
import { ClaudeOwnTools } from './own-tools.ts'
import { noteLeaf, readTranscriptState } from './past-sessions.ts'
import { ProcessUse } from './process-use.ts'
import { type ClaudeProcess, ClaudeSession } from './session.ts'
import { WarmPool } from './warm-pool.ts'

const WARM_FOR_MS = 5 * 60_000
/** A parked call is offered again within a second of the start, or within a few seconds on a busy machine. */
const REOFFER_MS = 30_000

/** Drives Claude Code through the vendor's library. */
export function claudeDriver(driver: DriverOptions = {}): Driver {
  const { appendPrompt, log = () => undefined } = driver
  const executable = programOnce(driver.executable)
  const { askDeadlineMs = ASK_DEADLINE_MS, warmForMs = WARM_FOR_MS, reofferMs = REOFFER_MS } = driver
  const guard = openGuard()
  const pool = new WarmPool(warmForMs)
  const kept = new KeptProcesses(warmForMs, log)
  const prepare = (open: OpenSession) => {
    const gate = new ClaudeGate(askDeadlineMs)
    const newSandbox = () => openAgentSandbox(claudeAgent.sandbox, open, line => log(`session ${open.id}: ${line}`))
    const agent = new AgentProcess({
      ...{ manifest: claudeAgent, guard, isolation: open.isolation, cwd: open.cwd, mayStay: true },
      marker: open.marker ?? secretId(16),
      ...{ sandbox: newSandbox(), newSandbox },
    })
    // A list of tools has no ToolSearch.
    const own = new ClaudeOwnTools(open.ownTools ?? [], { loaded: open.tools !== undefined })
    if (open.resume) noteLeaf({ vendorId: open.resume.vendorId, cwd: open.cwd, env: open.env })
    const options = optionsFor(open, { gate, agent, own, executable: executable(), appendPrompt })
    return { process: { gate, agent, own, askDeadlineMs, reofferMs, use: new ProcessUse(), kept }, options }
  }
  const cold = (open: OpenSession): ClaudeProcess => {
    const { process, options } = prepare(open)
    return { ...process, connection: new ClaudeConnection(prompts => query({ prompt: prompts, options })) }
  }
  return {
    agent: 'claude',
    isVendorId: isUuid,
    conversationState: (vendorId, { cwd, env }) => readTranscriptState({ vendorId, cwd, env }),
    async open(open) {
      const used = await kept.take(open)
      const ahead = used ? undefined : await pool.take(open)
      const level = `${guard.level(open.isolation)}${open.sandbox?.made ? ', sandbox' : ''}`
      const how = used ? 'goes on in the process of the task before' : ahead ? 'takes a warm process' : 'starts cold'
      log(`session ${open.id}: ${how} (${level})`)
      return new ClaudeSession(open, used ?? ahead ?? cold(open))
    },
    // A deferred call is offered as soon as there is a process, and nobody would be there to answer it.
    warm: async open => (answersParked(open) ? undefined : pool.add(open, () => prepare(open))),
    clearAhead: ({ marker }) => kept.clearAhead(marker),
    async cool(open) {
      await Promise.all([pool.remove(open), kept.remove(open.marker)])
    },
    async close() {
      await Promise.all([pool.close(), kept.close()])
    },
  }
}

function answersParked({ prompt, resume }: OpenSession): boolean {
  return resume !== undefined && prompt === undefined
}

/** Finds the program once. The vendor's library would search at every start, through a process report that takes 15 ms to write. */
function programOnce(executable: string | undefined): () => string | undefined {
  let program = executable
  return () => {
    try {
      program ??= bundledProgram()
    } catch {
      // The library searches by itself and reports what is missing.
    }
    return program
  }
}
