import { tableIn } from '../folder.ts'
import type { Ecosystem } from '../found.ts'
import { commandsIn } from '../scripts.ts'

const KINDS = ['setup', 'build', 'typecheck', 'lint', 'format', 'test'] as const

/** Makefiles, justfiles and Taskfiles: they know no language, but often the one command that does it all. */
export const runners: Ecosystem = async folder => {
  for (const { manager, names, scripts } of RUNNERS) {
    const file = folder.first(names)
    if (file === undefined) continue
    const found = await scripts(folder, file)
    const commands = commandsIn(found, {
      run: name => `${manager} ${name}`,
      from: name => `${file}: ${name}`,
      kinds: KINDS,
    })
    const check = found.get('check')
    // `make check` is the tests of everything that autotools ever built.
    if (check !== undefined && !commands.some(({ kind }) => kind === 'test')) {
      commands.push({ kind: 'test', run: `${manager} check`, from: `${file}: check`, declared: true })
    }
    if (commands.length > 0) return { ecosystem: manager, manager, manager_from: file, commands }
  }
  return undefined
}

type ReadScripts = (folder: Parameters<Ecosystem>[0], file: string) => Promise<Map<string, string>>

const RUNNERS: { manager: string; names: string[]; scripts: ReadScripts }[] = [
  {
    manager: 'just',
    names: ['justfile', 'Justfile', '.justfile'],
    // A recipe that wants arguments cannot be run as it is; one with defaults can.
    scripts: async (folder, file) =>
      rulesIn(await folder.text(file), /^@?([A-Za-z_][\w-]*)((?:\s+\*?[A-Za-z_]\w*=\S+)*)\s*:(?!=)/),
  },
  {
    manager: 'task',
    names: ['Taskfile.yml', 'Taskfile.yaml', 'taskfile.yml'],
    scripts: async (folder, file) =>
      new Map(
        Object.entries(tableIn(await folder.yaml(file), 'tasks')).map(([name, body]) => [
          name,
          JSON.stringify(body) ?? '',
        ]),
      ),
  },
  {
    manager: 'make',
    names: ['GNUmakefile', 'makefile', 'Makefile'],
    scripts: async (folder, file) =>
      rulesIn(await folder.text(file), /^([A-Za-z0-9][\w.-]*(?:[ \t]+[\w.-]+)*)[ \t]*::?(?![:=])/),
  },
]

/** Targets by name, each with the indented lines under it. */
function rulesIn(text: string | undefined, head: RegExp): Map<string, string> {
  const rules = new Map<string, string>()
  let open: string[] = []
  for (const line of (text ?? '').split(/\r?\n/)) {
    const names = head.exec(line)?.[1]?.split(/\s+/)
    if (names) {
      open = names
      for (const name of names) rules.set(name, rules.get(name) ?? '')
    } else if (/^\s+\S/.test(line)) {
      for (const name of open) rules.set(name, `${rules.get(name) ?? ''}${line.trim()}\n`)
    } else if (line.trim() !== '' && !line.startsWith('#')) open = []
  }
  return rules
}
