import { homedir } from 'node:os'
import { AppError } from '../../../base/errors.ts'

export interface PastSession {
  vendor_id: string
  summary: string
  first_prompt: string | null
  /** Milliseconds since the epoch. */
  last_modified: number
  cwd: string | null
  branch: string | null
}

/**
 * Claude Code's own past conversations, newest first, of one project or of all. The vendor's library reads the settings
 * folder of *this* process, so it must be called by the person's own command and not by the daemon.
 */
export async function pastSessions({
  dir,
  env,
}: {
  dir?: string
  env: Record<string, string | undefined>
}): Promise<PastSession[]> {
  if (folderOf(env) !== folderOf(process.env)) {
    throw new AppError('internal', {
      problem: 'past conversations can only be read for the environment of this process',
    })
  }
  const { listSessions } = await import('@anthropic-ai/claude-agent-sdk')
  const found = await listSessions(dir === undefined ? {} : { dir })
  return found
    .map(({ sessionId, summary, firstPrompt, lastModified, cwd, gitBranch }) => ({
      vendor_id: sessionId,
      summary,
      first_prompt: firstPrompt ?? null,
      last_modified: lastModified,
      cwd: cwd ?? null,
      branch: gitBranch ?? null,
    }))
    .toSorted((a, b) => b.last_modified - a.last_modified)
}

function folderOf(env: Record<string, string | undefined>): string {
  return env['CLAUDE_CONFIG_DIR'] || `${env['HOME'] || homedir()}/.claude`
}
