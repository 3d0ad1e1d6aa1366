/** Where a feature is asked for. */
export function featurePath({ project, name }: { project: string; name: string }, verb?: string): string {
  const path = `/features/${encodeURIComponent(name)}`
  return verb === undefined ? `${path}?project=${encodeURIComponent(project)}` : `${path}/${verb}`
}
