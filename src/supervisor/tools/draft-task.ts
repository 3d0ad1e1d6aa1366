import { AppError } from '../../base/errors.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'
import type { ToolReply } from '../../domain/tools/agent-tools.ts'
import { addToDraft, type Drafted, linkInDraft } from '../../tasks/features/draft.ts'
import { refuseStale } from '../fence.ts'
import type { ToolCall } from './caller.ts'

/** A task of the plan that the session is writing: it becomes a real one with all others, when the session is done. */
export function draftTask(task: Omit<ImportedTask, 'id'>, call: ToolCall): Promise<ToolReply> {
  return change(
    call,
    draft => addToDraft(draft, task),
    ({ id, isNew }) => (isNew ? `Added ${id}: ${task.title}` : `That task is there already: ${id}.`),
  )
}

/** One of them comes after another. */
export function draftDependency(edge: { task: string; after: string }, call: ToolCall): Promise<ToolReply> {
  return change(
    call,
    draft => linkInDraft(draft, edge),
    () => `${edge.task} comes after ${edge.after}.`,
  )
}

async function change(
  { run, parts }: ToolCall,
  work: (draft: ImportedTask[]) => Drafted,
  words: (drafted: Exclude<Drafted, { refused: string }>) => string,
): Promise<ToolReply> {
  const { store } = parts
  const { feature } = run.row.options
  return store.transaction(async tx => {
    await refuseStale(run, tx)
    const row = feature && (await store.features.get(feature.id, tx))
    if (!row || row.session_id !== run.id || row.phase !== 'tasks')
      throw new AppError('feature_unknown', { name: feature?.name ?? '', project: run.row.project })
    const drafted = work(row.draft)
    if ('refused' in drafted) return { ok: false, text: `Not done: ${drafted.refused}.` }
    await store.features.update(row.id, { draft: drafted.draft }, tx)
    return { ok: true, text: words(drafted) }
  })
}
