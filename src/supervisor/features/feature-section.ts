import { messageOf } from '../../base/errors.ts'
import type { DocumentKind } from '../../domain/features/document.ts'
import type { Task } from '../../domain/task.ts'
import { documentPath, readDocument } from '../../tasks/features/files.ts'
import type { BriefPiece, BriefSection } from '../brief/build-brief.ts'

/** Most of a brief that each of them may take. */
const TOKENS = { spec: 6_000, plan: 4_000 }

/** What the spec and the plan of a task's feature say, as they are now. */
export async function featureSections({
  project,
  feature,
}: Pick<Task, 'project' | 'feature'>): Promise<BriefSection[]> {
  if (feature === null) return []
  const section = async (kind: DocumentKind, title: string, weight: number) => ({
    ...{ name: kind, title, weight, tokens: TOKENS[kind] },
    pieces: await piecesOf({ project, name: feature }, kind),
  })
  return [
    await section('spec', `The spec of the feature that it belongs to: ${feature}`, 60),
    await section('plan', `The plan of that feature`, 30),
  ]
}

/** One that cannot be read is no reason not to begin; the agent knows that there is one. */
async function piecesOf(home: { project: string; name: string }, kind: DocumentKind): Promise<BriefPiece[]> {
  try {
    const text = await readDocument(home, kind)
    return text === undefined ? [] : [{ verbatim: text }]
  } catch (error) {
    return [{ text: `It is in ${documentPath(home, kind)}, and could not be read here: ${messageOf(error)}` }]
  }
}
