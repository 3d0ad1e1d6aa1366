import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { RememberedView } from '../../domain/remembered-answer.ts'
import { isFresh, readMemorySettings } from '../../human/precedents.ts'
import { formatDay } from '../../human/remembered-answers.ts'
import { resolveRealPath } from '../../policy/paths/fence.ts'
import { openClient } from '../connection/client.ts'
import type { CommandContext } from '../context.ts'
import { refuseInSession } from '../options.ts'
import { boxTable, type Cell } from '../render/list-table.ts'
import { cut, firstLine } from '../render/text.ts'

const WHERE_COLUMN = 1
const ASKED_COLUMN = 2
const ANSWER_COLUMN = 3
const MAX_CELL_WIDTH = 60

/** `pcc answers list` */
export async function listAnswers(context: CommandContext, { project }: { project?: string }): Promise<void> {
  const { paths, json, terminal, out } = context
  const client = await openClient(paths, context)
  const path = project === undefined ? undefined : (resolveRealPath(resolve(project)) ?? resolve(project))
  const query = path === undefined ? '' : `?project=${encodeURIComponent(path)}`
  const { answers } = await client.request<{ answers: RememberedView[] }>('GET', `/answers${query}`)
  if (json) return out(JSON.stringify({ answers }, null, 2))
  if (answers.length === 0) return out('Nothing is remembered.')
  const now = Date.now()
  const settings = await memorySettings(answers, context)
  const rows = answers.map(answer => {
    const memory = settings.get(answer.project)
    return answerRow(answer, { now, until: memory ? describeExpiry(answer, memory, now) : '' })
  })
  const headings = ['Id', 'Where', 'Asked', 'Answer', 'By', 'On', 'Until']
  const giveWay = [
    [WHERE_COLUMN, 12],
    [ASKED_COLUMN, 16],
    [ANSWER_COLUMN, 12],
  ] as const
  for (const line of boxTable({ headings, rows, terminal, giveWay })) out(line)
  out('Forget one with: pcc answers forget <id>')
}

type MemorySettings = ReturnType<typeof readMemorySettings>

/** How long answers count in each of their projects. What is answered everywhere goes by the person's own settings. */
async function memorySettings(
  answers: readonly RememberedView[],
  { paths, env }: Pick<CommandContext, 'paths' | 'env'>,
): Promise<Map<string | null, MemorySettings>> {
  const [{ loadConfig }, { loadSettings }] = await Promise.all([
    import('../../domain/config/load.ts'),
    import('../load-settings.ts'),
  ])
  const own = await loadConfig({ paths, env, project: null })
  const settings = new Map<string | null, MemorySettings>()
  for (const project of new Set(answers.map(answer => answer.project))) {
    // The settings of a project may be broken, and the answers of others are listed all the same.
    const loaded = project === null ? own : await loadSettings({ paths, env, project }).catch(() => own)
    settings.set(project, readMemorySettings(loaded.config.memory))
  }
  return settings
}

function answerRow(answer: RememberedView, { now, until }: { now: number; until: string }): Cell[] {
  return [
    { text: answer.id },
    { text: answer.project === null ? 'everywhere' : cut(firstLine(answer.project), MAX_CELL_WIDTH) },
    { text: cut(firstLine(answer.asked), MAX_CELL_WIDTH) },
    { text: cut(firstLine(answerText(answer)), MAX_CELL_WIDTH) },
    { text: answer.by === 'human' ? 'you' : firstLine(answer.by) },
    { text: formatDay(answer.answered_at, now) },
    until === 'old' ? { text: until, tone: 'dim' } : { text: until },
  ]
}

/** The answer as shown to a person. */
function answerText({ kind, verdict, answer }: RememberedView): string {
  if (kind === 'permission') return verdict === 'allow' ? 'allowed' : 'refused'
  return [answer ?? ''].flat().join(', ')
}

function describeExpiry(answer: RememberedView, memory: MemorySettings, now: number): string {
  if (answer.lasting) return 'always'
  return isFresh(answer, memory, now) ? formatDay(answer.answered_at + memory.ttlMs, now) : 'old'
}

/** `pcc answers forget`: forgets all given ids, or none if one of them is unknown. */
export async function forgetAnswers(context: CommandContext, ids: string[]): Promise<void> {
  const { paths, env, json, out } = context
  refuseInSession(env, 'answers forget …')
  const client = await openClient(paths, context)
  const { answers } = await client.request<{ answers: RememberedView[] }>('GET', '/answers')
  const chosen = ids.map(id => findAnswer(id, answers))
  const forgotten: RememberedView[] = []
  for (const { id } of new Set(chosen)) {
    forgotten.push((await client.request<{ forgotten: RememberedView }>('DELETE', `/answers/${id}`)).forgotten)
  }
  if (json) return out(JSON.stringify({ forgotten }, null, 2))
  for (const answer of forgotten) {
    out(`Forgotten: ${answer.id}  ${firstLine(answer.asked)} > ${firstLine(answerText(answer))}`)
  }
  out('You will be asked again.')
}

function findAnswer(typed: string, answers: RememberedView[]): RememberedView {
  const exact = answers.filter(({ id }) => id === typed)
  const matches =
    exact.length > 0 ? exact : answers.filter(({ id }) => id.startsWith(typed) || id.startsWith(`a-${typed}`))
  const [first, ...more] = matches
  if (!first || more.length > 0) throw new AppError('answer_unknown', { id: typed })
  return first
}
