import { readdir } from 'node:fs/promises'
import type { BrainContext } from '../../domain/brain/brain.ts'
import type { EventOf } from '../../domain/event.ts'
import type { Parts, Run } from '../run.ts'

/** What an opinion is formed on must fit into a prompt. */
const MAX_DECISIONS = 50
const MAX_ENTRIES = 200

/** What a brain may know of a session when it forms an opinion. All of it is data. */
export async function brainContext(run: Run, { store }: Parts): Promise<BrainContext> {
  const [task, answered, entries] = await Promise.all([
    run.row.task_id === null ? undefined : store.tasks.get(run.row.task_id),
    store.events({ subject: run.id, kinds: ['question.answered'], tail: MAX_DECISIONS }),
    entriesOf(run.row.project),
  ])
  return {
    project: run.row.project,
    task: task?.description ?? run.row.task,
    requirements: run.requirements,
    decisions: answered
      .filter((event): event is EventOf<'question.answered'> => event.kind === 'question.answered')
      .flatMap(({ body }) =>
        Object.entries(body.answers).map(([question, answer]) => ({
          question,
          answer: [answer].flat().join(', '),
          by: body.by,
        })),
      ),
    similar: [],
    entries,
  }
}

async function entriesOf(project: string): Promise<string[]> {
  const found = await readdir(project, { withFileTypes: true }).catch(() => [])
  return found.slice(0, MAX_ENTRIES).map(entry => (entry.isDirectory() ? `${entry.name}/` : entry.name))
}
