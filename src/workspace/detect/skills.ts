import { parse as parseYaml } from 'yaml'
import type { Reader } from './reader.ts'

/** A skill that lies in a project. */
export interface ProjectSkill {
  name: string
  description: string
  /** Relative to the project. */
  path: string
  /** All of the file. */
  text: string
}

const FOLDER = '.claude/skills'
/** A list that an agent is to choose from. */
const MOST = 20

/** The skills that lie in a project, by name. One whose head cannot be read says nothing, and is left out. */
export async function skillsIn(reader: Reader): Promise<ProjectSkill[]> {
  const folders = (await reader.list(FOLDER)).filter(({ kind }) => kind === 'folder')
  const found: ProjectSkill[] = []
  for (const { name } of folders) {
    if (found.length === MOST) break
    const path = `${FOLDER}/${name}/SKILL.md`
    const read = await reader.read(path)
    const head = read && 'text' in read ? headOf(read.text) : undefined
    const description = head?.['description']
    if (!read || !('text' in read) || typeof description !== 'string') continue
    found.push({ name: typeof head?.['name'] === 'string' ? head['name'] : name, description, path, text: read.text })
  }
  return found
}

function headOf(text: string): Record<string, unknown> | undefined {
  const head = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1]
  try {
    const value: unknown = head === undefined ? undefined : parseYaml(head, { maxAliasCount: 100, logLevel: 'error' })
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // as if it had none
  }
}
