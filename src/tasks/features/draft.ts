import { shortId } from '../../base/ids.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'

/** Tasks of one feature that an agent may add: more is no plan that a person could look through. */
export const MOST_DRAFTED = 300

type Draft = readonly ImportedTask[]

/** What adding to a draft comes to: the draft from now on, and what is said of it. Nothing has changed where there is no draft. */
export type Drafted = { draft: ImportedTask[]; id: string; isNew: boolean } | { refused: string }

/** A task more. The same title again is the same task: an agent that was interrupted may begin anew. */
export function addToDraft(draft: Draft, { after = [], ...task }: Omit<ImportedTask, 'id'>): Drafted {
  const same = draft.find(({ title }) => title === task.title)
  if (same?.id !== undefined) return { draft: [...draft], id: same.id, isNew: false }
  if (draft.length >= MOST_DRAFTED)
    return {
      refused: `there are ${draft.length} tasks, and ${MOST_DRAFTED} is the most: make them larger, do not add more`,
    }
  const blockers = after.map(ref => idOf(ref, draft))
  if (blockers.includes(undefined)) return { refused: unknown(after[blockers.indexOf(undefined)] ?? '', draft) }
  const id = freeId(draft)
  const edges = blockers.length > 0 ? { after: [...new Set(blockers.filter(each => each !== undefined))] } : {}
  return { draft: [...draft, { ...task, id, ...edges }], id, isNew: true }
}

/** A task comes after another one too. */
export function linkInDraft(draft: Draft, edge: { task: string; after: string }): Drafted {
  const [task, after] = [idOf(edge.task, draft), idOf(edge.after, draft)]
  if (task === undefined) return { refused: unknown(edge.task, draft) }
  if (after === undefined) return { refused: unknown(edge.after, draft) }
  if (leadsTo(after, task, draft))
    return { refused: `${task} would wait for itself: ${after} is it, or comes after it` }
  const linked = draft.map(each =>
    each.id === task ? { ...each, after: [...new Set([...(each.after ?? []), after])] } : each,
  )
  return { draft: linked, id: task, isNew: true }
}

/** By its id, or by its title: who adds several at once knows no ids yet. */
function idOf(ref: string, draft: Draft): string | undefined {
  return (draft.find(({ id }) => id === ref) ?? draft.find(({ title }) => title === ref))?.id
}

/** Whether a task is, or comes after, another. Each is looked at once. */
function leadsTo(from: string, to: string, draft: Draft): boolean {
  const seen = new Set<string>()
  const waiting = [from]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (id === to) return true
    if (seen.has(id)) continue
    seen.add(id)
    waiting.push(...(draft.find(each => each.id === id)?.after ?? []))
  }
  return false
}

function unknown(ref: string, draft: Draft): string {
  const known = draft.slice(-10).map(({ id, title }) => `${id} (${title})`)
  return `no task of this plan has the id or title ${JSON.stringify(ref.slice(0, 60))}; the last ones are: ${known.join(', ') || 'none yet'}`
}

function freeId(draft: Draft): string {
  for (;;) {
    const id = shortId('t')
    if (!draft.some(each => each.id === id)) return id
  }
}
