import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchRow } from '../row.ts'
import { openReliabilityWorld, residentMb, ticksOf } from './world.ts'

const SESSIONS = 20
const TICK_MS = 10

/** Each session asks a different question, because equal questions become one decision. */
const SCENARIO = {
  conversations: Array.from({ length: SESSIONS }, (_, n) => ({
    match: `part ${n + 1}.`,
    turns: [
      {
        tools: [
          {
            AskUserQuestion: {
              questions: [
                {
                  question: `Which colour for part ${n + 1}?`,
                  header: 'Colour',
                  multiSelect: false,
                  options: ['red', 'blue'].map(label => ({ label, description: '' })),
                },
              ],
            },
          },
        ],
      },
      { text: 'Done.' },
    ],
  })),
}

/** Twenty sessions wait for a person who never comes. */
export async function benchParked(watchedMs: number): Promise<BenchRow[]> {
  await using world = await openReliabilityWorld(SCENARIO, { PCC_SESSIONS_MAX_CONCURRENT: '3' })
  for (let n = 1; n <= SESSIONS; n += 1) await world.start(`part-${n}`, '--task', `Please do part ${n}.`)
  await world.all(SESSIONS, ({ status, ended_at }) => status === 'waiting_input' && ended_at !== null)
  const pid = await world.daemonPid()
  await sleep(5_000)
  const calls = world.simulator.requests.length
  const [used, began] = [ticksOf(pid).used, performance.now()]
  await sleep(watchedMs)
  const tookMs = performance.now() - began
  const percent = (((ticksOf(pid).used - used) * TICK_MS) / tookMs) * 100
  const megabytes = residentMb(pid)
  const called = world.simulator.requests.length - calls
  const watched = `watched for ${Math.round(tookMs / 1000)} s`
  const what = `with ${SESSIONS} parked sessions`
  return [
    {
      what: `daemon processor use, idle ${what}`,
      measured: `${percent.toFixed(2)} % (${watched})`,
      budget: '≤ 0.1 %',
      ok: percent <= 0.1,
    },
    {
      what: `daemon memory, idle ${what}`,
      measured: `${megabytes.toFixed(0)} MB (${watched})`,
      budget: '≤ 150 MB',
      ok: megabytes <= 150,
    },
    {
      what: `model calls, idle ${what}`,
      measured: `${called} (${watched})`,
      budget: '0',
      ok: called === 0,
    },
  ]
}
