import { readdir } from 'node:fs/promises'

/** `2026-01-13T12-00-01.123Z`, then `…-2` for a second one in the same millisecond. Also the only shape that is looked up. */
const ID = /^\d{4,6}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(-\d{1,4})?$/

/** The name of the nth checkpoint of a moment. */
export function idFor(timestamp: number, nth: number): string {
  const time = new Date(timestamp).toISOString().replaceAll(':', '-')
  return nth === 0 ? time : `${time}-${nth + 1}`
}

export function isCheckpointId(text: string): boolean {
  return ID.test(text)
}

/** The time an id was made for, in milliseconds. */
export function timeOfId(id: string): number {
  const [day = '', time = ''] = id.replace(/Z.*$/, 'Z').split('T')
  return Date.parse(`${day}T${time.replace('-', ':').replace('-', ':')}`)
}

/** Ids of the checkpoints in a session's folder, newest first; none where there is no folder. */
export async function idsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(thrown => {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw thrown
  })
  return names
    .filter(name => name.endsWith('.json'))
    .map(name => name.slice(0, -'.json'.length))
    .filter(isCheckpointId)
    .toSorted((a, b) => timeOfId(b) - timeOfId(a) || nthOf(b) - nthOf(a))
}

function nthOf(id: string): number {
  return Number(id.split('Z-')[1] ?? 1)
}
