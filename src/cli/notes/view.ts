import { join } from 'node:path'
import type { Note } from '../../knowledge/notes/note.ts'
import { NOTES_FOLDER } from '../../knowledge/notes/read-notes.ts'

/** A note as `--json` shows it. */
export function noteView({ file, title, tags, feature, by, task, created_at, updated_at, body }: Note) {
  return {
    file: join(NOTES_FOLDER, file),
    ...{ title, tags, feature: feature ?? null, by, task: task ?? null },
    ...{ created_at: created_at ?? null, updated_at: updated_at ?? created_at ?? null, body },
  }
}
