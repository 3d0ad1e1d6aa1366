import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open.ts'
import { asksFor } from '../../src/supervisor/session/asks.ts'
import { stepForEvent } from '../../src/supervisor/session/events.ts'
import { record } from '../../src/supervisor/session/record.ts'
import { aLiveSession } from '../../test/supervisor/session/live-session.ts'
import { sessionDepsOn } from '../../test/supervisor/session/session-deps.ts'
import type { BenchRow } from '../row.ts'

const CALLS = 500

/** Everything that the daemon does for one tool call: store the request, judge it, store the verdict, store the result. */
export async function benchVerdictCost(): Promise<BenchRow[]> {
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  try {
    await using store = await openStore({ file: join(dir, 'store.db') })
    const run = aLiveSession()
    const { id, name, project, task, agent } = run.row
    await store.sessions.insert({ id, name, project, task, agent })
    const deps = sessionDepsOn(store)
    const asks = asksFor(run, deps)
    const times: number[] = []
    for (let index = 0; index < CALLS; index += 1) {
      const call = { callId: `c${index}`, tool: 'Bash', input: { command: `npm test -- ${index}` } }
      const started = performance.now()
      await record(run, deps, stepForEvent({ kind: 'tool_request', ...call }, run))
      await asks.permission({ ...call, cwd: project }, new AbortController().signal)
      await record(run, deps, stepForEvent({ kind: 'tool_result', callId: call.callId, ok: true, output: 'ok' }, run))
      times.push(performance.now() - started)
    }
    const sorted = times.toSorted((a, b) => a - b)
    const [median = 0, p99 = 0] = [sorted[CALLS / 2], sorted[Math.floor(CALLS * 0.99)]]
    return [
      {
        what: 'verdict and events of one tool call, in the daemon',
        measured: `${median.toFixed(2)} ms (p99 ${p99.toFixed(2)} ms)`,
        budget: '≤ 5 ms',
        ok: median <= 5,
      },
    ]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
