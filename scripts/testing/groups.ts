/** Files whose tests run in one process, and what to call them. */
export interface TestGroup {
  name: string
  files: string[]
}

/**
 * Folders whose tests only call functions: no process is started, no environment, directory or global changed. Loading is most
 * of their cost, so all files of one run together. A file that needs more stands in none of them.
 */
const PURE: string[] = []

/** What takes long starts first, so that no long file is left for the end, when a processor would idle. */
const SLOW_FIRST = ['test/agents/claude.test.ts', 'test/chaos/', 'test/e2e/', 'test/daemon/', 'test/cli/']

/** The processes of a run in the order of their start. */
export function groupTests(files: string[]): TestGroup[] {
  const groups = new Map<string, string[]>()
  for (const file of files) {
    const folder = PURE.find(pure => file.startsWith(pure))
    groups.set(folder ?? file, [...(groups.get(folder ?? file) ?? []), file])
  }
  return [...groups]
    .map(([name, members]) =>
      members.length === 1 ? { name: members[0] ?? name, files: members } : { name, files: members },
    )
    .sort((a, b) => rank(a.name) - rank(b.name))
}

function rank(name: string): number {
  const at = SLOW_FIRST.findIndex(start => name.startsWith(start))
  return at === -1 ? SLOW_FIRST.length : at
}
