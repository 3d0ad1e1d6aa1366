/** Files whose tests run in one process, and the name of the group. */
export interface TestGroup {
  name: string
  files: string[]
  /** Whether it mostly waits, for a limit to reset or for a disk. */
  waits: boolean
}

/**
 * Files whose tests share a process, and the name of each group: shared modules are loaded once and run warm. The files may use
 * their own store, git, daemons and agents, which each file ends. A group is sized so that two cores stay busy to the end of a run.
 */
const TOGETHER = {
  'test/agents/acp/': /^test\/agents\/acp\//,
  'test/agents/claude/ gate to spending': /^test\/agents\/claude\/[c-s]/,
  'test/agents/claude/ tripwire to withheld': /^test\/agents\/(claude\/[t-z]|claude-)/,
  'test/agents/codex/': /^test\/agents\/codex\//,
  'test/agents/hooks/': /^test\/agents\/(hooks\/|recorder)/,
  'test/agents/limits/': /^test\/agents\/(limits\/|agent-process|json-lines|own-tools|replay)/,
  'test/agents/sandbox/ and tmux/': /^test\/agents\/(sandbox|tmux)\//,
  'test/agents/checkpoints/': /^test\/agents\/checkpoints\//,
  'test/base/': /^test\/base\//,
  'test/brain/': /^test\/brain\//,
  'test/chaos/': /^test\/chaos\/(?!rounds)/,
  'test/cli/commands/ add to daemon': /^test\/cli\/commands\/([a-c]|da)/,
  'test/cli/commands/ doctor to gates': /^test\/cli\/commands\/(do|[e-g])/,
  'test/cli/commands/ hook to init': /^test\/cli\/commands\/[h-i]/,
  'test/cli/commands/ journal to quota': /^test\/cli\/commands\/[j-q]/,
  'test/cli/commands/ report to rules': /^test\/cli\/commands\/(re|rul)/,
  'test/cli/commands/ run to worktree': /^test\/cli\/commands\/(run|[s-w])/,
  'test/cli/ bad-input to hot-imports': /^test\/cli\/([a-k]|connection)/,
  'test/cli/ live to sessions': /^test\/cli\/[l-z]/,
  'test/daemon/agents/ to guards/': /^test\/daemon\/(agents|checkpoints|guards)\//,
  'test/daemon/api/': /^test\/daemon\/api\//,
  'test/daemon/brain/': /^test\/daemon\/(brain\/|mcp\/)/,
  'test/daemon/human/ announced to escalations': /^test\/daemon\/human\/([a-c]|es)/,
  'test/daemon/human/ lost-answers to parked-login': /^test\/daemon\/human\/(lost|memory|parked-login)/,
  'test/daemon/human/ parked-questions to shared-questions': /^test\/daemon\/human\/(parked-q|s)/,
  'test/daemon/completion/': /^test\/daemon\/(completion|leaving)/,
  'test/daemon/limits/ killed-while-gated to odd-resets': /^test\/daemon\/limits\/(killed|lost|nearly|odd)/,
  'test/daemon/limits/ one-account to quoted-limits': /^test\/daemon\/limits\/(one|quoted|try)/,
  'test/daemon/notify/ to parent': /^test\/daemon\/(notify|own|parent)/,
  'test/daemon/queue/ to retention': /^test\/daemon\/(queue|retention)/,
  'test/daemon/runs/ a to s': /^test\/daemon\/runs\/[a-s]/,
  'test/daemon/runs/ t to w': /^test\/daemon\/runs\/[t-w]/,
  'test/daemon/start/': /^test\/daemon\/(start\/|stream|signals)/,
  'test/daemon/tmux/ and watchdog/': /^test\/daemon\/(tmux|watchdog)\//,
  'test/daemon/webhooks/ and routes/': /^test\/daemon\/(webhooks|routes)\//,
  'test/domain/': /^test\/domain\//,
  'test/e2e/answering/ to asked/': /^test\/e2e\/(answer|asked)/,
  'test/e2e/ create to everyday': /^test\/e2e\/(create|everyday|journal)/,
  'test/e2e/features/': /^test\/e2e\/features\//,
  'test/e2e/limits/ ccusage to hold': /^test\/e2e\/limits\/[c-h]/,
  'test/house/': /^test\/house\/(?!package|picture)/,
  'test/human/': /^test\/human\//,
  'test/knowledge/ and report/': /^test\/(knowledge|report)\//,
  'test/memory/': /^test\/memory\//,
  'test/policy/':
    /^test\/policy\/((classify|holes|paths|programs|shell|words)\/|(allowed|commands|fence|paths|tool-calls|verdict)[^/]*\.test)/,
  'test/policy/verdict/ and trust/': /^test\/policy\/(verdict|rows|trust|worktree)\//,
  'test/policy/ corpus to written-files':
    /^test\/policy\/(corpus|every|indirect|known|layers|lock|never|plain|project|proper|script|written)/,
  'test/security/ planted': /^test\/security\/(caches|planted|outside|unknown|api-agents)/,
  'test/simulator/': /^test\/simulator\//,
  'test/store/': /^test\/store\/(?!.*property|sqlite-faults)/,
  'test/supervisor/ brief to guards': /^test\/supervisor\/(brief|completion\/(?!people|worktrees)|features|guards)/,
  'test/supervisor/hooks/': /^test\/supervisor\/hooks\//,
  'test/supervisor/ knowledge to report': /^test\/supervisor\/(knowledge|memory|report)\//,
  'test/supervisor/ limits and runs': /^test\/supervisor\/(limits\/(?!random)|runs\/(?!any-night))/,
  'test/supervisor/session/ a to l': /^test\/supervisor\/(session\/(?!crossings)[a-l]|[^/]+$)/,
  'test/supervisor/session/ m to w': /^test\/supervisor\/session\/(?!many-parked)[m-w]/,
  'test/tasks/': /^test\/tasks\/(?!.*property)/,
  'test/workspace/merge/': /^test\/workspace\/merge\/(?!killed|batches|target|conflicts|.*property)/,
  'test/workspace/verify/': /^test\/workspace\/(command|verify\/(diff|flips|verify|tests\/|opinions))/,
  'test/workspace/worktrees/': /^test\/workspace\/(changes|detect|git|worktrees\/(?!crash))/,
}

/** Tests that change the clock or the environment of their process, count its files and listeners, measure its memory, or end it. */
const ALONE =
  /^test\/(base\/crash-point|human\/terminals|supervisor\/(session\/(call-stored|warm-processes)|limits\/starts)|daemon\/(idle-memory|signals|lock|watchdog\/settings)|chaos\/full-disk|policy\/shell\/braces|workspace\/(git\/git|worktrees\/repositories)|(agents\/(acp|codex)\/flood))/

/** Slow files start first, so that no long file is left for the end, when cores would idle. */
const SLOW_FIRST = [
  'test/house/package.test.ts',
  'test/agents/claude.test.ts',
  'test/chaos/rounds.test.ts',
  'test/security/everyday',
  'test/daemon/',
  'test/e2e/',
  'test/agents/',
  'test/brain/',
  'test/domain/',
  'test/cli/',
  'test/workspace/',
  'test/base/',
  'test/supervisor/',
]
const WAITING = /^test\/((daemon|e2e)\/limits\/|house\/package\.test|scripts\/)/

/** Groups files into processes, in the order of their start: the longest first, or in the given order. */
export function groupTests(files: string[], order: 'longest first' | 'as given' = 'longest first'): TestGroup[] {
  const groups = Map.groupBy(files, file => rowOf(file) ?? file)
  const inOrder = [...groups].map(([name, files]) => ({
    name: files.length === 1 ? (files[0] ?? name) : name,
    files,
    waits: WAITING.test(name),
  }))
  return order === 'as given' ? inOrder : inOrder.sort((a, b) => rank(a.name) - rank(b.name))
}

function rowOf(file: string): string | undefined {
  if (ALONE.test(file)) return undefined
  return Object.entries(TOGETHER).find(([, files]) => files.test(file))?.[0]
}

function rank(name: string): number {
  const at = SLOW_FIRST.findIndex(start => name.startsWith(start))
  return at === -1 ? SLOW_FIRST.length : at
}
