import { resolve } from 'node:path'
import type { RememberedView } from '../../domain/remembered-answer.ts'
import { dayOf } from '../../human/memory/day-of.ts'
import { isFresh, memorySettings } from '../../human/memory/settings.ts'
import { realPathOf } from '../../policy/paths/real-path.ts'
import { openClient } from '../client.ts'
import type { Context } from '../context.ts'
import { boxTable, type Cell } from '../render/list-table.ts'
import { cut, firstLine } from '../render/text.ts'

const ASKED = 2
const ANSWER = 3
const WIDEST = 60

/** `pcc answers list` */
export async function listAnswers(context: Context, { project }: { project?: string }): Promise<void> {
  const { places, env, json, terminal, out } = context
  const client = await openClient(places, context)
  const at = project === undefined ? undefined : (realPathOf(resolve(project)) ?? resolve(project))
  const query = at === undefined ? '' : `?project=${encodeURIComponent(at)}`
  const { answers } = await client.request<{ answers: RememberedView[] }>('GET', `/answers${query}`)
  if (json) return out(JSON.stringify({ answers }, null, 2))
  if (answers.length === 0) return out('Nothing is remembered.')
  const { loadConfig } = await import('../../domain/config/load.ts')
  const memory = memorySettings((await loadConfig({ places, env })).config.memory)
  const now = Date.now()
  const rows = answers.map(answer => rowOf(answer, { now, until: untilOf(answer, memory, now) }))
  const headings = ['Id', 'Where', 'Asked', 'Answer', 'By', 'On', 'Until']
  const giveWay = [
    [1, 12],
    [ASKED, 16],
    [ANSWER, 12],
  ] as const
  for (const line of boxTable({ headings, rows, terminal, giveWay })) out(line)
  out('Forget one with: pcc answers forget <id>')
}

function rowOf(answer: RememberedView, { now, until }: { now: number; until: string }): Cell[] {
  return [
    { text: answer.id },
    { text: answer.project === null ? 'everywhere' : cut(firstLine(answer.project), WIDEST) },
    { text: cut(firstLine(answer.asked), WIDEST) },
    { text: cut(firstLine(said(answer)), WIDEST) },
    { text: answer.by === 'human' ? 'you' : firstLine(answer.by) },
    { text: dayOf(answer.answered_at, now) },
    until === 'old' ? { text: until, tone: 'dim' } : { text: until },
  ]
}

/** What was answered, in words. */
export function said({ kind, verdict, answer }: RememberedView): string {
  if (kind === 'permission') return verdict === 'allow' ? 'allowed' : 'refused'
  return [answer ?? ''].flat().join(', ')
}

function untilOf(answer: RememberedView, memory: ReturnType<typeof memorySettings>, now: number): string {
  if (answer.lasting) return 'always'
  return isFresh(answer, memory, now) ? dayOf(answer.answered_at + memory.ttlMs, now) : 'old'
}
