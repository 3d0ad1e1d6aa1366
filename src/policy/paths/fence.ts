import type { Fence } from './place.ts'

/** What crosses to a worker: a fence but for the function that looks at the disk. */
export type FenceData = Omit<Fence, 'realPath'>

/** Paths followed on the disk in one request; the rest leads nowhere that can be told. Each costs some microseconds. */
const MAX_PATHS = 256

/** A fence for one request, in which every path is followed once: rules ask for the same one several times. */
export function fenceFor(data: FenceData, realPath: Fence['realPath']): Fence {
  const seen = new Map<string, string | undefined>()
  return {
    ...data,
    realPath: path => {
      if (!seen.has(path)) seen.set(path, seen.size < MAX_PATHS ? realPath(path) : undefined)
      return seen.get(path)
    },
  }
}
