/** Files whose tests run in one process, and what to call them. */
export interface TestGroup {
  name: string
  files: string[]
  /** It mostly waits: for a limit to reset, or for a disk. */
  waits: boolean
}

/**
 * Files whose tests share a process: what they load is loaded once, and runs warm. They may use a store, git and processes of
 * their own, which each test ends; whoever changes the environment, the directory or the clock of its process, sets a hook for
 * all tests, or takes long by itself, stands in no row. A row is as long as keeps two processors busy to the end.
 */
const TOGETHER = {
  'test/policy/':
    /^test\/policy\/((classify|holes|paths|shell|tools|verdict)\/|(commands|fence|paths|tool-calls|verdict)\.test)/,
  'test/policy/words/': /^test\/policy\/words\/(?!braces)/,
  'test/tasks/': /^test\/tasks\/(?!.*property)/,
  'test/brain/': /^test\/brain\/(adversarial|chain|permission|question|turn-ending)\.test/,
  'test/domain/':
    /^test\/domain\/(account\/|answerer|session-status|config\/(load|project|settings|in-force|agent-env)\.test)/,
  'test/human/': /^test\/human\/(?!terminals)/,
  'test/report/': /^test\/report\//,
  'test/store/': /^test\/store\/(?!.*property|sqlite-faults|processes|migrate|integrity)/,
  'test/supervisor/ asks to guards':
    /^test\/supervisor\/(asks\/(?!call-stored)|brain|brief|events|failover\/(?!random)|features|guards)/,
  'test/supervisor/ hosted to retries':
    /^test\/supervisor\/(hosted|landing\/(?!people|worktrees)|models|proposals|recover|retries)/,
  'test/supervisor/ runs to waits':
    /^test\/supervisor\/(runs\/(?!any-night)|schedules|settings|sigils|tools|verifier|waits\/(?!starts))/,
  'test/supervisor/steering/': /^test\/supervisor\/(steering\/(?!many-parked|crossings)|[^/]+$)/,
  'test/workspace/merge/': /^test\/workspace\/merge\/(?!kill|batches|target|conflicts|.*property)/,
  'test/workspace/verify/': /^test\/workspace\/verify\/(diff|flips|verify|tests|gates\/opinions)/,
  'test/workspace/worktrees/': /^test\/workspace\/(changes|detect|git\/index-marks|worktrees\/(?!crash))/,
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
    const row = Object.entries(TOGETHER).find(([, files]) => files.test(file))
    return row?.[0] ?? file
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
