import type { ProcessFigures } from '../../../base/process/process-figures.ts'

/** One group of processes that belongs to a tool and holds most of what an agent uses. */
export interface Hog {
  group: number
  bytes: number
  pids: number[]
}

/**
 * The tool that uses more than half of the cap by itself, if one does: a process group inside of the agent's tree that
 * neither the agent itself is part of nor anybody outside of the tree, so that ending it ends nothing else.
 */
export function hogIn(
  tree: readonly ProcessFigures[],
  { agent, all, capBytes }: { agent: number; all: readonly ProcessFigures[]; capBytes: number },
): Hog | undefined {
  const inside = new Set(tree.map(({ pid }) => pid))
  // Guardian's leader, namespace and agent are one group (base/process/namespace.ts); every tool has one of its own.
  const own = tree.find(({ pid }) => pid === agent)?.group
  const groups = Map.groupBy(tree, ({ group }) => group)
  const hogs = [...groups]
    .map(([group, members]) => ({
      group,
      bytes: members.reduce((sum, each) => sum + each.residentBytes, 0),
      pids: members.map(({ pid }) => pid),
    }))
    .filter(({ group, bytes }) => group > 1 && group !== own && bytes > capBytes / 2)
    .filter(({ group }) => own !== undefined && all.every(each => each.group !== group || inside.has(each.pid)))
  return hogs.toSorted((a, b) => b.bytes - a.bytes)[0]
}
