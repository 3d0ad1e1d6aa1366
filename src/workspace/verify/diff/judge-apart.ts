import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { entryUrl } from '../../../base/program.ts'
import type { Finding } from '../../../domain/evidence.ts'
import type { DiffChange, DiffSettings } from './change.ts'

export interface JudgeJob {
  change: DiffChange
  settings: DiffSettings
}

/** A large change takes a second; what takes longer than this was written to take long. */
const DEADLINE_MS = 60_000
/** Longer than the pauses between the tasks of a run. */
const KEEP_MS = 60_000

/** Judges changes; what could not be judged in time is a finding that blocks. */
export type JudgeDiff = (job: JudgeJob, limits?: Limits) => Promise<Finding[]>

/**
 * Judges a change in a thread of its own: the agent wrote the texts, and neither a pattern that it found nor their size may
 * hold up the daemon. What could not be judged in time is a finding that blocks.
 */
export const judgeApart: JudgeDiff = async (job, limits = {}) => {
  const worker = startWorker()
  try {
    return await answerOf(worker, job, limits)
  } catch {
    return [UNREAD]
  } finally {
    await worker.terminate()
  }
}

/**
 * The same with a thread that is kept for the next change, because its start takes longer than most changes. One that had to be cut
 * off is not used again, and while it is busy another change gets a thread of its own. It goes when nobody has asked for a while.
 */
export function keepJudge({ keepMs = KEEP_MS } = {}): JudgeDiff {
  let kept: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let isBusy = false
  return async (job, limits = {}) => {
    if (isBusy) return judgeApart(job, limits)
    isBusy = true
    clearTimeout(idle)
    const worker = kept ?? startWorker()
    kept = undefined
    try {
      const findings = await answerOf(worker, job, limits)
      worker.unref()
      kept = worker
      idle = setTimeout(() => {
        void kept?.terminate()
        kept = undefined
      }, keepMs).unref()
      return findings
    } catch {
      await worker.terminate()
      return [UNREAD]
    } finally {
      isBusy = false
    }
  }
}

/** Too slow, out of memory or called off: all the same here, for nobody looked at the change. */
const UNREAD: Finding = {
  code: 'diff.unread',
  weight: 'block',
  text: 'The change could not be looked at in time: make it smaller.',
}

async function answerOf(
  worker: Worker,
  job: JudgeJob,
  { signal, deadlineMs = DEADLINE_MS }: Limits,
): Promise<Finding[]> {
  const late = AbortSignal.timeout(deadlineMs)
  const answer = once(worker, 'message', { signal: signal ? AbortSignal.any([signal, late]) : late })
  worker.ref()
  worker.postMessage(job)
  const [findings] = (await answer) as [Finding[]]
  return findings
}

interface Limits {
  signal?: AbortSignal | undefined
  deadlineMs?: number
}

/** It runs from source as `.ts` and from the published package as `.js`, whichever this file is. */
function startWorker(): Worker {
  const worker = new Worker(entryUrl('workspace/verify/diff/judge-worker'), {
    resourceLimits: { maxOldGenerationSizeMb: 1024, stackSizeMb: 4 },
    env: {},
    execArgv: [],
  })
  // Whoever waits for an answer hears of it; nobody else may fall over it.
  worker.on('error', () => undefined)
  return worker
}
