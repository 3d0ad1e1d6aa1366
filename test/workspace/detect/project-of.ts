import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Ending, tempDir } from '../../support/world.ts'

/** A directory with these files; a name that ends with a slash is an empty folder. */
export function projectOf(t: Ending, files: Record<string, string>): string {
  const project = tempDir(t)
  for (const [name, text] of Object.entries(files)) {
    const path = join(project, name)
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (!name.endsWith('/')) writeFileSync(path, text)
  }
  return project
}
