import { createHash } from 'node:crypto'
import { basename } from 'node:path'

/** The name of a project's folder among those of others: readable, and another one for each, since many are called "api". */
export function folderFor(project: string): string {
  const readable = basename(project)
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 40)
  return `${readable || 'project'}-${createHash('sha256').update(project).digest('hex').slice(0, 6)}`
}
