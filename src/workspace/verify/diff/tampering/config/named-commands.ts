import { nameOf } from '../../change/file-kind.ts'

/** Commands of a file by their names; undefined where the file has none by its nature. */
export function namedCommands(path: string, text: string): Map<string, string> | undefined {
  const name = nameOf(path)
  if (name === 'package.json' || name === 'composer.json') return jsonScripts(text, 'scripts')
  if (/^deno\.jsonc?$/.test(name)) return jsonScripts(text, 'tasks')
  if (/^(GNU)?[Mm]akefile$|\.mk$|^[Jj]ustfile$/.test(name)) return targets(text)
  if (name === 'pyproject.toml' || name === 'tox.ini') return sections(text)
  return undefined
}

function jsonScripts(text: string, key: string): Map<string, string> {
  try {
    const found: unknown = (JSON.parse(text || '{}') as Record<string, unknown>)[key]
    if (typeof found !== 'object' || found === null) return new Map()
    return new Map(
      Object.entries(found).flatMap(([name, command]) => (typeof command === 'string' ? [[name, command]] : [])),
    )
  } catch {
    return new Map() // half written, which a build tells
  }
}

/** `test: deps` and the lines with a tab below it. */
function targets(text: string): Map<string, string> {
  const found = new Map<string, string>()
  let name: string | undefined
  for (const line of text.split('\n')) {
    const head = /^([\w.:-]+)(?:\s+[\w=*+"']+)*\s*:(?!=)\s*(.*)$/.exec(line)
    if (head) {
      name = head[1] ?? ''
      const needs = (head[2] ?? '').replace(/#.*$/, '').trim()
      found.set(name, needs === '' ? '' : `make ${needs}`)
    } else if (name !== undefined && /^(\t| {2,})\S/.test(line)) {
      const command = line.trim().replace(/^@/, '')
      if (!command.startsWith('#')) found.set(name, [found.get(name), command].filter(Boolean).join(' && '))
    } else if (line.trim() !== '') name = undefined
  }
  return found
}

/** `commands = …` of tox, tasks of poe and taskipy. */
function sections(text: string): Map<string, string> {
  const found = new Map<string, string>()
  let section = ''
  let key: string | undefined
  for (const line of text.split('\n')) {
    const head = /^\[+([^\]]+)\]+\s*$/.exec(line)
    const pair = /^([\w.-]+)\s*=\s*(.*)$/.exec(line)
    if (head) {
      section = head[1] ?? ''
      key = undefined
    } else if (pair && /testenv|tox|poe|taskipy|pdm\.scripts|hatch.*scripts|rye\.scripts/.test(section)) {
      key = /^commands/.test(pair[1] ?? '') ? `test:${section}` : (pair[1] ?? '')
      if (
        /^(commands|[\w-]+)/.test(pair[1] ?? '') &&
        !/^(deps|passenv|setenv|description|envlist|skip_install|basepython|allowlist_externals)$/.test(pair[1] ?? '')
      )
        found.set(key, (pair[2] ?? '').replace(/^["']|["']$/g, '').trim())
      else key = undefined
    } else if (key !== undefined && /^\s+\S/.test(line))
      found.set(key, [found.get(key), line.trim()].filter(Boolean).join(' && '))
  }
  return found
}
