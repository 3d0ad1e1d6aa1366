import { open as openFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConversationState } from '../../domain/session.ts'
import { codexHome } from './start/home.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** The first line of a conversation holds its instructions; more than its beginning need not be read. */
const BEGINNING = 4096

/** Whether this can be the id of one of its conversations. */
export function isThreadId(id: string): boolean {
  return UUID.test(id)
}

/** What is left of a conversation in Codex's own files. */
export async function threadState(vendorId: string, env: Record<string, string>): Promise<ConversationState> {
  if (!isThreadId(vendorId)) return 'missing'
  const home = codexHome(env)
  for (const folder of ['sessions', 'archived_sessions']) {
    const file = await findRollout(join(home, folder), vendorId)
    if (file) return (await begins(file)) ? 'intact' : 'damaged'
  }
  return 'missing'
}

async function findRollout(folder: string, vendorId: string): Promise<string | undefined> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const name = names.find(one => one.includes(vendorId))
  return name === undefined ? undefined : join(folder, name)
}

/** A conversation that was packed away is Codex's to unpack; of one that can be read the beginning must make sense. */
async function begins(file: string): Promise<boolean> {
  try {
    await using handle = await openFile(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0)
    if (!file.endsWith('.jsonl')) return bytesRead > 0
    return buffer.subarray(0, bytesRead).toString('utf8').trimStart().startsWith('{"')
  } catch {
    return false
  }
}
