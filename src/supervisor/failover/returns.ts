import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Floor } from '../floor.ts'
import type { Run } from '../run.ts'
import { Alarm } from '../waits/alarm.ts'
import { holdBack } from '../waits/hold-back.ts'
import { chooseNext, type Standing } from './choose-next.ts'
import { lookAtAgents } from './facts.ts'

/** What one agent costs is known only when it is told, and a gate may be opened by others. */
const LOOK_AGAIN_MS = 15_000

interface ReturnParts {
  floor(): Floor
  clock: Clock
  log: Log
}

/**
 * Looks at live sessions whose task could change hands: the one that had it first may have it back, or the one at work has spent what one
 * agent may. Such a session stops after the tool in flight; what follows is decided with its ending. Without failover it does nothing.
 */
export class Returns extends Alarm {
  readonly #parts: ReturnParts

  constructor(parts: ReturnParts) {
    const failed = (error: unknown) => parts.log.error({ error }, 'could not look whose turn it is')
    super({ look: () => this.#look(), failed })
    this.#parts = parts
  }

  async #look(): Promise<number | undefined> {
    const concerned = this.#parts.floor().live.runs().filter(isConcerned)
    for (const run of concerned) if (await this.#changes(run)) holdBack(run)
    return concerned.length > 0 ? LOOK_AGAIN_MS : undefined
  }

  async #changes(run: Run): Promise<boolean> {
    const { failover, row } = run
    if (!failover || run.pausing !== undefined || run.session === undefined) return false
    const { order, on, thresholdMs, costUsd } = failover
    const standing = standingNow(run)
    const changedAt = row.options.handed?.at
    const now = this.#parts.clock.now()
    if (standing.why === 'works' && changedAt !== undefined && now - changedAt < thresholdMs) return false
    const floor = this.#parts.floor()
    const env = floor.kept.of(row.id) ?? run.open.env
    const agents = await lookAtAgents({ row, env, order, floor })
    const choice = chooseNext({ now, order: agents, current: row.agent, standing, changedAt, thresholdMs, on, costUsd })
    return 'go' in choice
  }
}

function isConcerned({ failover, row, over }: Run): boolean {
  if (over || !failover || failover.order.length < 2) return false
  return row.options.handed !== undefined || failover.costUsd !== undefined
}

function standingNow({ failover, row }: Run): Standing {
  const spent = row.cost_usd - (row.options.handed?.cost_usd ?? 0)
  const isDear = failover?.costUsd !== undefined && spent >= failover.costUsd
  return isDear ? { why: 'cost', spent } : { why: 'works' }
}
