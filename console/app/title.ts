/** The title of the page, which the browser's history and readers of screens say. */
import { useEffect } from 'react'
import { plain } from '../parts/plain.ts'

/** @param name of what the page shows. */
export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${plain(name)} · Berth`
  }, [name])
}
