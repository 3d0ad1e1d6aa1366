/** Files whose tests run in one process, and what to call them. */
export interface TestGroup {
  name: string
  files: string[]
  /** It mostly waits: for a limit to reset, or for a disk. */
  waits: boolean
}

/**
 * What only calls functions: no process is started, no environment, directory or global changed, no hook set for all tests.
 * Loading is most of the cost of such files, so those of one row run together. Whoever does more stands in no row.
 */
const PURE = {
  'test/policy/':
    /^test\/policy\/((classify|holes|paths|shell|tools|verdict)\/|(commands|fence|paths|tool-calls|verdict)\.test)/,
  'test/policy/words/': /^test\/policy\/words\/(?!braces)/,
  'test/tasks/': /^test\/tasks\/(?!.*property)/,
  'test/brain/': /^test\/brain\/(adversarial|chain|permission|question|turn-ending)\.test/,
  'test/domain/':
    /^test\/domain\/(account\/|answerer|session-status|config\/(load|project|settings|in-force|agent-env)\.test)/,
}

/** What takes long starts first, so that no long file is left for the end, when a processor would idle. */
const SLOW_FIRST = [
  'test/agents/claude.test.ts',
  'test/house/package.test.ts',
  'test/chaos/',
  'test/e2e/',
  'test/daemon/',
]
const WAITING = /^test\/((daemon|e2e)\/limits\/|house\/package\.test|scripts\/)/

/** The processes of a run in the order of their start. */
export function groupTests(files: string[]): TestGroup[] {
  const groups = Map.groupBy(files, file => {
    const pure = Object.entries(PURE).find(([, files]) => files.test(file))
    return pure?.[0] ?? file
  })
  return [...groups]
    .map(([name, files]) => ({
      name: files.length === 1 ? (files[0] ?? name) : name,
      files,
      waits: WAITING.test(name),
    }))
    .sort((a, b) => rank(a.name) - rank(b.name))
}

function rank(name: string): number {
  const at = SLOW_FIRST.findIndex(start => name.startsWith(start))
  return at === -1 ? SLOW_FIRST.length : at
}
