import type { Assessment } from '../../domain/assessment.ts'

/** What an agent can do instead, by the beginning of a reason's code. The first that fits counts. */
const WAYS: [beginning: string, way: string][] = [
  ['boundary.file', 'leave it as it is; what lies in this worktree is yours'],
  ['boundary.', 'commit here; pcc merges it'],
  ['path.secret', 'do without the secret; ask for a value in your report if you need one'],
  ['secret.', 'do without the secret'],
  ['write.', 'use the Write or Edit tool'],
  ['editor', 'use the Edit tool'],
  ['file.delete', 'leave the file where it is and name it in your report'],
  ['file.mode', 'leave the rights as they are; run a script through its interpreter'],
  ['git.force', 'push without force, or leave pushing to a person'],
  ['git.destroy', 'keep the work: commit it, or stash it'],
  ['pipe.interpreter', 'save it with the Write tool, read it, then run it from the project'],
  ['net.run', 'add it to the project as a dependency'],
  ['net.download', 'read it with WebFetch and write it with the Write tool'],
  ['path.outside', 'stay inside the project'],
  ['shell.', 'write it as plain separate commands'],
  ['name.unknown', 'name the program plainly'],
  ['code.', 'put the code into a file of the project and run that'],
  ['pkg.publish', 'leave publishing to a person'],
]

/** The way round for a request that was refused. */
export function wayRound({ reasons }: Assessment): string {
  for (const { code, risk } of reasons) {
    if (risk !== 'HIGH') continue
    const way = WAYS.find(([beginning]) => code.startsWith(beginning))
    if (way) return way[1]
  }
  return 'go on without it and say in your report that it was left out'
}
