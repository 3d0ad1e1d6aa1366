import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where the temporary files of one session go. */
export interface OwnTemp {
  path: string
  env: Record<string, string>
  remove(): Promise<void>
}

/**
 * A folder for temporary files that is the session's alone. By itself Codex lets every command write to all of `/tmp`, where others keep
 * theirs and whole projects may lie; and it leaves an empty `.git` in every folder that can be written to, by which git takes `/tmp` for a
 * broken repository.
 */
export async function openTemp(env: Record<string, string>): Promise<OwnTemp> {
  const path = await realpath(await mkdtemp(join(env['TMPDIR'] || tmpdir(), 'pcc-codex-')))
  return {
    path,
    env: { TMPDIR: path, TMP: path, TEMP: path },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
