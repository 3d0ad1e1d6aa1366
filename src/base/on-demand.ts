/** Finds something out once, and only if somebody asks. */
export function onDemand<Value>(find: () => Promise<Value>): () => Promise<Value> {
  let found: Promise<Value> | undefined
  return () => {
    found ??= find()
    return found
  }
}
