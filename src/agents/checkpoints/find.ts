import { AppError } from '../../base/errors.ts'
import { read, type SavedCheckpoint } from './read.ts'

/** The checkpoint a person means: by its id, a beginning of it that fits one only, or `latest`. Throws where there is none. */
export async function find(dir: string, sessionId: string, ref: string): Promise<SavedCheckpoint> {
  const { good, bad } = await read(dir, sessionId, ref === 'latest' ? undefined : ref)
  if (good) return good
  const problem = bad[0] ? ` ${bad[0].id}: ${bad[0].problem}.` : ''
  throw new AppError('checkpoint_unknown', { id: sessionId, checkpoint: ref, problem })
}
